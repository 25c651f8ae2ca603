"""`manage.py leaderboards rebuild [--competition SLUG]`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from competitions.models import Competition
from core.errors import GauntletError
from leaderboards import services


class Command(BaseCommand):
    """Derives scores and standings again from finished rows."""

    help = "rebuild: derive every score and standing again from finished rows; says how many rows differed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("act", choices=["rebuild"])
        parser.add_argument("--competition", metavar="SLUG", help="only this one; default all")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            seen = services.rebuild(_competition(options["competition"]))
        except GauntletError as error:
            raise CommandError(f"{error}. What came before it is rebuilt.") from error
        self.stdout.write(
            f"{seen.scores_differed} of {seen.scores} scores and {seen.standings_differed} of {seen.standings} "
            "standings differed."
        )


def _competition(slug: str | None) -> Competition | None:
    if slug is None:
        return None
    try:
        return Competition.objects.get(slug=slug)
    except Competition.DoesNotExist as error:
        known = ", ".join(Competition.objects.values_list("slug", flat=True)) or "none"
        raise CommandError(f"No competition is called {slug!r}. There are: {known}.") from error
