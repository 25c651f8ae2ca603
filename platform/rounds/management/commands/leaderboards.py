"""`manage.py leaderboards verify [--repair] [--competition SLUG]`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from competitions.models import Competition
from rounds import services


class Command(BaseCommand):
    """Thin: the services do the work."""

    help = (
        "verify: compute every score, standing, pool and quota slot again from what it follows from, and name what "
        "differs. Exits with 1 where something differs that is not repaired."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("act", choices=["verify"])
        parser.add_argument("--repair", action="store_true", help="write what can be computed again")
        parser.add_argument("--competition", metavar="SLUG", help="only this one; default all")

    def handle(self, *args: Any, **options: Any) -> None:
        seen = services.verify(_competition(options["competition"]), repair=options["repair"])
        for difference in seen.differences:
            self.stdout.write(str(difference))
        left = sum(not difference.repaired for difference in seen.differences)
        summary = f"{seen.scores} scores and {seen.standings} standings verified, {len(seen.differences)} differences"
        if left:
            raise CommandError(f"{summary}, {left} of them not repaired.")
        self.stdout.write(f"{summary}.")


def _competition(slug: str | None) -> Competition | None:
    if slug is None:
        return None
    try:
        return Competition.objects.get(slug=slug)
    except Competition.DoesNotExist as error:
        known = ", ".join(Competition.objects.values_list("slug", flat=True)) or "none"
        raise CommandError(f"No competition is called {slug!r}. There are: {known}.") from error
