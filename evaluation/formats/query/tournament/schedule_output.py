"""The output of a schedule: what is decided so far, and what is to be played next or the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.schedule_input import TOP, Field, Played


class OrderedBy(StrEnum):
    """The value that a stage orders by."""

    MEAN_RANK = "mean_rank"
    MEDIAN = "median"


@dataclass(frozen=True)
class Demand:
    """Each of `models` against each of `attacks` (positions) on the first `samples` samples."""

    models: tuple[int, ...]
    attacks: tuple[int, ...]
    samples: int


@dataclass(frozen=True)
class Wanted:
    """Triples still to play: samples `samples` (numbers, ascending) of the pair, none of them played before."""

    model: int
    attack: int
    samples: tuple[int, ...]


@dataclass(frozen=True)
class StageDecision:
    """The decision of a stage on one player: its place among the remaining (from 1), and whether it stays.

    `value` is the value that orders the players, None for an attack that met only models of its own team; `cut_line` is
    the value of the last place kept, None in the last stage. `spared`: the guard kept the player beyond the places.
    `inconsistent`: a model that left because its audits failed; it has no value, and a place behind all ordered models.
    """

    side: Side
    name: str
    place: int
    value: float | None
    kept: bool
    cut_line: float | None
    spared: bool = False
    inconsistent: bool = False


@dataclass(frozen=True)
class Stage:
    """A finished stage: its number of samples, its panels, who counted (names), and a line for each player.

    `loop` is the length of the loop in which the recursion ended, 1 for a fixed point. `renewed`: the panels were
    chosen again.
    """

    number: int
    samples: int
    ordered_by: OrderedBy
    panel_models: tuple[str, ...]
    panel_attacks: tuple[str, ...]
    counted_models: tuple[str, ...]
    counted_attacks: tuple[str, ...]
    loop: int
    renewed: bool
    decisions: tuple[StageDecision, ...]


@dataclass(frozen=True)
class ScheduleResult:
    """All players, best first: those of the last stage in its order, then the eliminated, the last cut first.

    Models that left as inconsistent come after all others, the last that left first; they are also in `inconsistent`.
    """

    models: tuple[str, ...]
    attacks: tuple[str, ...]
    inconsistent: tuple[str, ...] = ()

    @property
    def best_models(self) -> tuple[str, ...]:
        """The five best models, fewer where the others are inconsistent."""
        return tuple(name for name in self.models if name not in self.inconsistent)[:TOP]


@dataclass(frozen=True)
class Plan:
    """The state of a tournament. Exactly one of `wanted` (not empty) and `result` is set.

    `demands` is everything demanded so far, in order: with `wanted` empty, the cost of the whole tournament.
    """

    stages: tuple[Stage, ...]
    demands: tuple[Demand, ...]
    wanted: tuple[Wanted, ...] = ()
    result: ScheduleResult | None = None


@dataclass(frozen=True)
class StageCeiling:
    """What a stage plays at most: each of `pairs` on `added` samples more, which are `samples` at its end.

    `first_met` of the pairs may have met in no stage before. So many `attacks` enter the stage.
    """

    samples: int
    pairs: int
    added: int
    first_met: int
    attacks: int

    @property
    def triples(self) -> int:
        """The triples that it plays at most."""
        return self.pairs * self.added


def most_triples(stages: Iterable[StageCeiling]) -> int:
    """Return how many triples the stages of a tournament play at most."""
    return sum(stage.triples for stage in stages)


class Schedule(Protocol):
    """Who meets whom, on how many samples, and who is eliminated: a pure function of the results."""

    def plan(self, field: Field, played: Played) -> Plan:
        """Return the state of the tournament, given everything played so far (in any order)."""

    def samples_of_stages(self, samples: int) -> tuple[int, ...]:
        """Return the sample counts at which stages may end, ascending, the last one `samples`."""

    def ceilings(
        self, models: int, attacks: int, samples: int, *, models_given: bool = False
    ) -> tuple[StageCeiling, ...]:
        """Return what each stage plays at most. The sum of the triples is the upper bound, whatever is played."""

    def most_pairs(self, models: int, attacks: int, samples: int, *, models_given: bool = False) -> int:
        """Return the upper bound of pairs, whatever is played."""
