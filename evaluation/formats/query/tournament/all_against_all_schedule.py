"""Schedules in each stage of which all remaining players of both sides meet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from evaluation.formats.query.tournament.schedule_input import Field, Played
from evaluation.formats.query.tournament.schedule_output import OrderedBy, Plan, StageCeiling
from evaluation.formats.query.tournament.schedule_replay import Cut, TournamentReplay


@dataclass(frozen=True)
class FullStage:
    """A stage: its samples, the players that enter it, and those that stay; in the last one nobody is cut."""

    samples: int
    models: int
    attacks: int
    models_kept: int
    attacks_kept: int
    last: bool


class AllAgainstAllSchedule(ABC):
    """A schedule of such stages, which follow from the numbers of players and samples alone.

    The last stage is ordered by the paper's medians, those before it as `ordered_by` says.
    """

    ordered_by: ClassVar[OrderedBy]

    @abstractmethod
    def stages(self, models: int, attacks: int, samples: int, models_given: bool) -> Iterable[FullStage]:
        """Return the stages in order. With `models_given` only attacks are cut."""

    def plan(self, field: Field, played: Played) -> Plan:
        """Return the state of the tournament, given everything played so far (in any order)."""
        replay = TournamentReplay(field, played)
        for stage in self.stages(len(field.models), len(field.attacks), field.samples, field.models_given):
            by = OrderedBy.MEDIAN if stage.last else self.ordered_by
            measured = replay.measure(replay.models, replay.attacks, stage.samples, by)
            if measured is None:
                break
            if stage.last:
                replay.close(measured, None, None)
            else:
                models = Cut(min(stage.models_kept, len(measured.models.players))) if measured.models else None
                replay.close(measured, models, Cut(stage.attacks_kept))
        return replay.plan()

    def ceilings(
        self, models: int, attacks: int, samples: int, *, models_given: bool = False
    ) -> tuple[StageCeiling, ...]:
        """Return what each stage plays: exactly this where no pair is of one team."""
        found: list[StageCeiling] = []
        for stage in self.stages(models, attacks, samples, models_given):
            pairs, before = stage.models * stage.attacks, found[-1].samples if found else 0
            first_met = 0 if found else pairs
            found.append(StageCeiling(stage.samples, pairs, stage.samples - before, first_met, stage.attacks))
        return tuple(found)

    def most_pairs(self, models: int, attacks: int, samples: int, *, models_given: bool = False) -> int:
        """Return how many pairs are never exceeded: everybody meets everybody in the first stage."""
        return models * attacks
