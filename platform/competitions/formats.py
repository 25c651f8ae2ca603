"""What of a competition differs by its format. Everything else is the same for all."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from competitions.rules_reader import Rules, RulesReader
from competitions.season_costs import ExpectedSeason, Quantity, SeasonCosts
from core.errors import Refusal
from core.parts_by_format import ByFormat, HasFormat
from core.time_format import duration

if TYPE_CHECKING:
    from competitions.models import Competition


class TrackSide(StrEnum):
    """What the submissions to a track do."""

    ATTACK = "attack"
    DEFENCE = "defence"


@dataclass(frozen=True)
class TrackSpec:
    """A track that every competition of a format has."""

    name: str
    """Its name in the files of competitions, in manifests, addresses and the database."""
    title: str
    """What is submitted, in words."""
    side: TrackSide


@dataclass(frozen=True)
class RepeatedWork:
    """What a new version of the rules makes again: how many submissions are `evaluated`.

    `seconds` of one worker are those of the same work before; None if nothing was measured yet. `note` is a sentence on
    its order or its extent, "" for none.
    """

    evaluated: int
    seconds: float | None
    note: str = ""

    def __str__(self) -> str:
        if not self.evaluated and not self.seconds:
            return "No submission is evaluated again."
        number = "1 submission is" if self.evaluated == 1 else f"{self.evaluated:,} submissions are"
        minutes = None if self.seconds is None else max(math.ceil(self.seconds / 60), 1)
        time = "no time is known yet" if minutes is None else f"about {duration(60 * minutes)} of worker time"
        return f"{number} evaluated again: {time}.{f' {self.note}' if self.note else ''}"


class CompetitionFormat(Protocol):
    """The rules and the tracks of a format."""

    @property
    def title(self) -> str:
        """The format in a few words, for the admin."""

    @property
    def tracks(self) -> Sequence[TrackSpec]:
        """The tracks of its competitions, in the order of pages."""

    @property
    def rules(self) -> RulesReader[Rules]:
        """The reader of its rules."""

    @property
    def without_baselines(self) -> str:
        """What is shown or played in a track without bundled submissions, in one sentence for an import's notes."""

    def keep_opponent(self, name: str) -> str:
        """Store the opponent of smoke tests that a competition's file names; return the digest of its files.

        Return "" for a bundled submission. Raise `Refusal` if it cannot be the opponent.
        """

    def check_baseline(self, track_name: str, source: Path, rules: Rules) -> None:
        """Raise `Refusal` if the submission in a directory cannot be a baseline of the track under the rules."""

    def import_notes(self, competition: Competition) -> Iterator[str]:
        """Yield notes and warnings about what an imported competition plays, in sentences."""

    def repeated_work(self, competition: Competition) -> RepeatedWork:
        """Return what is evaluated again on the leaderboards once the rules have a new version."""

    def season_quantities(self, competition: Competition) -> Sequence[Quantity]:
        """Return what the costs of a season follow from beside teams and submissions, measured where that is possible.

        A mean is a ratio of sums over the finished work, so that the measured work costs what it did cost.
        """

    def season_costs(self, competition: Competition, season: ExpectedSeason) -> SeasonCosts:
        """Return what is built, tested and played in a season, with the planned rounds and what follows from them.

        `season` has every track of the competition, and a value for each of its `season_quantities`.
        """


class WithoutOpponent(ABC):
    """The answers of a format whose smoke test has no opponent."""

    @property
    @abstractmethod
    def rules(self) -> RulesReader[Rules]:
        """The reader of its rules."""

    def keep_opponent(self, name: str) -> str:
        """Raise `Refusal`."""
        raise Refusal(f"no smoke test of the {self.rules.make().format} format has an opponent", fix="remove the line")

    def import_notes(self, competition: Competition) -> Iterator[str]:
        yield from ()


class WithoutBaselines:
    """The answer of a format without baselines."""

    def check_baseline(self, track_name: str, source: Path, rules: Rules) -> None:
        """Raise `Refusal`."""
        raise Refusal(f"the {track_name} track has no baselines", fix="remove the line")


competition_formats: ByFormat[CompetitionFormat] = ByFormat("competition")
"""The rules and tracks of each format."""


def track_title(competition: HasFormat, name: str) -> str:
    """Return what is submitted to a track of a competition, in words."""
    return next(track.title for track in competition_formats.of(competition).tracks if track.name == name)


def format_choices() -> list[tuple[str, str]]:
    """Return the names and titles of all formats."""
    return [(name, competition_formats[name].title) for name in competition_formats]


def track_choices() -> list[tuple[str, str]]:
    """Return the names and titles of the tracks of all formats; of two with one name, the first."""
    found: dict[str, tuple[str, str]] = {}
    for track in (track for name in competition_formats for track in competition_formats[name].tracks):
        found.setdefault(track.name, (track.name, track.title))
    return list(found.values())
