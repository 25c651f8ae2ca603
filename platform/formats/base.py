"""What a format is to the site: one part for each app that asks for something particular to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from competitions.formats import CompetitionFormat, competition_formats
from core.parts_by_format import ByFormat
from rounds.formats import RoundFormat, round_formats
from submissions.formats import SubmissionFormat, submission_formats


@dataclass(frozen=True)
class Format:
    """A format. Its package makes one and registers it when the site starts, in the `ready` of its app.

    What only some programs need is the path of a class, so that the others do not import it.
    """

    name: str
    """Its name in the files of competitions, in addresses and in the database."""
    competition: CompetitionFormat
    """Its rules and tracks."""
    submissions: SubmissionFormat
    """How submissions are built and checked."""
    rounds: RoundFormat
    """How rounds are planned, played, scored, published and released."""
    pages: str
    """What its pages show: a `pages.formats.PageFormat`."""
    api: str
    """What the API answers: an `api.formats.ApiFormat`."""
    demo: str = ""
    """Who plays it in the demo: a `demo.formats.DemoFormat`; "" for a format that no demo plays."""


def register(format_: Format) -> None:
    """Make a format known to every app. Raise `ValueError` for a name that is taken."""
    competition_formats.register(format_.name, format_.competition)
    submission_formats.register(format_.name, format_.submissions)
    round_formats.register(format_.name, format_.rounds)
    for kind, path in (("pages", format_.pages), ("api", format_.api), ("demo", format_.demo)):
        if path:
            ByFormat[Any](kind).register(format_.name, path)
