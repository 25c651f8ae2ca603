"""`manage.py leaderboards verify [--repair] [--competition SLUG]`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from competitions.models import Competition
from rounds.site_verification import verify


class Command(BaseCommand):
    """Command-line interface of the verification services."""

    help = (
        "verify: compute every score, standing, pool, place and quota slot again from its sources, and list the "
        "differences. "
        "Exits with 1 if a difference is not repaired."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("act", choices=["verify"])
        parser.add_argument("--repair", action="store_true", help="write the computed values")
        parser.add_argument("--competition", metavar="SLUG", help="only this competition; default: all")

    def handle(self, *args: Any, **options: Any) -> None:
        seen = verify(_competition(options["competition"]), repair=options["repair"])
        for difference in seen.differences:
            self.stdout.write(str(difference))
        left = sum(not difference.repaired for difference in seen.differences)
        summary = f"{seen.scores} scores and {seen.ranked} standings verified, {len(seen.differences)} differences"
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
        raise CommandError(f"No competition {slug!r}. Available: {known}.") from error
