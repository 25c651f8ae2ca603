"""What a season costs before it is played: what is expected, and the lines of work that follow. Values only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """A time, a number or a size of a piece of work, from which costs follow. An organiser may enter another value."""

    name: str
    label: str
    value: float
    source: str
    """What it was measured on, or of which limit it is, in a sentence."""


@dataclass(frozen=True)
class ExpectedTrack:
    """What is expected of a track in the whole season."""

    teams: int
    submissions: int
    """Those of all teams together."""
    gpu: float = 0.0
    """The share of them that uses a GPU."""


NOBODY = ExpectedTrack(0, 0)
"""A track without teams."""


@dataclass(frozen=True)
class ExpectedSeason:
    """What an organiser expects of a season: the tracks by name, and the values of the quantities by name."""

    tracks: Mapping[str, ExpectedTrack]
    quantities: Mapping[str, float]

    @property
    def submissions(self) -> int:
        """The submissions to all tracks."""
        return sum(track.submissions for track in self.tracks.values())


@dataclass(frozen=True)
class CostLine:
    """One kind of work of a season. `made_of` says in words what its numbers are made of.

    `seconds` are those of one processor, since the players of an item take turns. In `gpu_seconds` of them a player
    with a GPU plays.
    """

    title: str
    made_of: str
    number: int
    unit: str
    """What `number` counts: "matches"."""
    samples: int = 0
    queries: float = 0.0
    seconds: float = 0.0
    gpu_seconds: float = 0.0
    stored_bytes: float = 0.0


@dataclass(frozen=True)
class SeasonCosts:
    """The lines of a season, and the workers that are live now, with those of them that have a GPU."""

    lines: Sequence[CostLine]
    workers: int
    gpu_workers: int

    @property
    def total(self) -> CostLine:
        """The sum of all lines. Its `number` counts items of every kind."""
        return CostLine(
            "In total",
            "",
            sum(line.number for line in self.lines),
            "items",
            sum(line.samples for line in self.lines),
            math.fsum(line.queries for line in self.lines),
            math.fsum(line.seconds for line in self.lines),
            math.fsum(line.gpu_seconds for line in self.lines),
            math.fsum(line.stored_bytes for line in self.lines),
        )

    def wall_seconds(self, line: CostLine) -> float | None:
        """Return how long the live workers take for a line alone; None if none of them can play all of it."""
        if not self.workers or (line.gpu_seconds and not self.gpu_workers):
            return None
        on_gpus = line.gpu_seconds / self.gpu_workers if line.gpu_seconds else 0.0
        return max(line.seconds / self.workers, on_gpus)


def season_submissions(teams: int, each_day: float, days: int) -> int:
    """Return how many submissions so many teams make: each makes at least one."""
    return max(teams, math.ceil(teams * each_day * days))


def share_of_either(first: float, second: float) -> float:
    """Return the share of pairs in which one or both have what `first` and `second` of the two sides have."""
    return 1.0 - (1.0 - first) * (1.0 - second)
