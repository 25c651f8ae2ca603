"""Leaderboards that are a table of named columns: the first one ranks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from competitions.models import Track
from submissions.models import Submission


@dataclass(frozen=True)
class Column:
    """A column of numbers: its title and unit, as shown, and which numbers are better."""

    name: str
    title: str
    unit: str = ""
    larger_is_better: bool = True

    def shown(self, value: float) -> str:
        """Return a number with its unit."""
        return f"{value:,.1f}\N{NO-BREAK SPACE}{self.unit}".strip()


@dataclass(frozen=True)
class ScoredSubmission:
    """A submission that counts, with a number for each column. It comes with its team."""

    submission: Submission
    scored_at: datetime
    values: Sequence[float]


@dataclass(frozen=True)
class PlainRow:
    """A row of a leaderboard: a scored submission with its rank; equal scores share one."""

    rank: int
    scored: ScoredSubmission
    cells: Sequence[str]

    @property
    def submission(self) -> Submission:
        """The submission."""
        return self.scored.submission

    @property
    def team(self) -> str:
        """The name of its team."""
        return self.submission.repository.entry.team.name

    @property
    def team_slug(self) -> str:
        """The team in addresses."""
        return self.submission.repository.entry.team.slug


class PlainBoard(ABC):
    """The leaderboards of a format."""

    columns: Sequence[Column]
    """Its columns. The first one ranks."""

    @abstractmethod
    def scored(self, track: Track) -> Sequence[ScoredSubmission]:
        """Return what counts on a track, in any order; of each team at most one submission."""

    def rows(self, track: Track) -> list[PlainRow]:
        """Return the leaderboard of a track, the best first; what has an equal score is in the order of submission."""
        sign = -1 if self.columns[0].larger_is_better else 1
        found = sorted(self.scored(track), key=lambda each: (sign * each.values[0], each.submission.pk))
        scores = [each.values[0] for each in found]
        return [PlainRow(scores.index(each.values[0]) + 1, each, self._cells(each)) for each in found]

    def _cells(self, each: ScoredSubmission) -> list[str]:
        return [column.shown(value) for column, value in zip(self.columns, each.values, strict=True)]
