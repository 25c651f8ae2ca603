"""What a format is to the site: one part for each app that asks for something particular to it."""

from __future__ import annotations

from dataclasses import dataclass

from api.formats import ApiFormat, api_formats
from competitions.formats import CompetitionFormat, competition_formats
from demo.formats import DemoFormat, demos
from pages.formats import PageFormat, page_formats
from rounds.formats import RoundFormat, round_formats
from submissions.formats import SubmissionFormat, submission_formats


@dataclass(frozen=True)
class Format:
    """A format. Its package makes one and registers it when the site starts, in the `ready` of its app."""

    name: str
    """Its name in the files of competitions, in addresses and in the database."""
    competition: CompetitionFormat
    """Its rules and tracks."""
    submissions: SubmissionFormat
    """How submissions are built and checked."""
    rounds: RoundFormat
    """How rounds are planned, played, scored, published and released."""
    pages: PageFormat
    """What its pages show."""
    api: ApiFormat
    """What the API answers."""
    demo: DemoFormat | None = None
    """Who plays it in the demo; None for a format that no demo plays."""


def register(format_: Format) -> None:
    """Make a format known to every app. Raise `ValueError` for a name that is taken."""
    competition_formats.register(format_.name, format_.competition)
    submission_formats.register(format_.name, format_.submissions)
    round_formats.register(format_.name, format_.rounds)
    page_formats.register(format_.name, format_.pages)
    api_formats.register(format_.name, format_.api)
    if format_.demo is not None:
        demos.register(format_.name, format_.demo)
