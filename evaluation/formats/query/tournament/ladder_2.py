"""The ladder, version 2: all remaining players meet, on growing nested samples, and both sides are cut.

| stage | samples | models kept of N      | attacks kept of N     |
|-------|---------|-----------------------|-----------------------|
| 1     | 2       | three quarters, >= 40 | 40 %, at least 28     |
| 2     | 5       | 40 %, at least 20     | 22 %, at least 18     |
| 3     | 20      | 10                    | 10                    |
| last  | all     | all                   | all                   |

In each stage all remaining players meet, so every kind of opponent that is left measures every player: a cut cannot be
blind to attacks that beat only some kinds of models (`docs/statistics.md`). The recursive top five (`counted_players`)
of all remaining players is computed, and each side is ordered against it by mean rank within samples. In the last stage
the paper's medians order. An attack meets many models, so a cut needs fewer samples of it than of a model, which has
one smallest distance per sample.

The places of each side follow from its own N. A stage that would cut neither side is left out, and sample counts end at
those of the field. A side of ten or fewer is never cut, and where both are so small the last stage is the only one.
The prior decides nothing. With given models all remaining attacks meet all of them, and only attacks are ordered and
cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.replay import Cut, TournamentReplay
from evaluation.formats.query.tournament.schedule_input import Field, Played
from evaluation.formats.query.tournament.schedule_output import OrderedBy, Plan, StageCeiling

FINALISTS = 10


@dataclass(frozen=True)
class _Places:
    """Keep `percent` of a side, rounded up, and at least `least`."""

    percent: int
    least: int

    def of(self, players: int) -> int:
        """Return the places of a side that began with `players`."""
        return min(players, max(self.least, -(-players * self.percent // 100)))


@dataclass(frozen=True)
class _Ladder2Step:
    """A stage: its samples, and the players that enter it and that stay."""

    samples: int
    models: int
    attacks: int
    models_kept: int
    attacks_kept: int
    last: bool


_CUTS = (
    (2, _Places(75, 40), _Places(40, 28)),
    (5, _Places(40, 20), _Places(22, 18)),
    (20, _Places(0, FINALISTS), _Places(0, FINALISTS)),
)


@dataclass(frozen=True)
class Ladder2:
    """The recommended schedule."""

    def plan(self, field: Field, played: Played) -> Plan:
        """Return the state of the tournament, given everything played so far (in any order)."""
        replay = TournamentReplay(field, played)
        for step in _steps(len(field.models), len(field.attacks), field.samples, field.models_given):
            by = OrderedBy.MEDIAN if step.last else OrderedBy.MEAN_RANK
            measured = replay.measure(replay.models, replay.attacks, step.samples, by)
            if measured is None:
                break
            if step.last:
                replay.close(measured, None, None)
            else:
                models = Cut(min(step.models_kept, len(measured.models.players))) if measured.models else None
                replay.close(measured, models, Cut(step.attacks_kept))
        return replay.plan()

    def samples_of_stages(self, samples: int) -> tuple[int, ...]:
        """Return the sample counts at which stages may end, ascending, the last one `samples`."""
        return (*(count for count, _, _ in _CUTS if count < samples), samples)

    def ceilings(
        self, models: int, attacks: int, samples: int, *, models_given: bool = False
    ) -> tuple[StageCeiling, ...]:
        """Return what each stage plays: exactly this where no pair is of one team."""
        found: list[StageCeiling] = []
        for step in _steps(models, attacks, samples, models_given):
            pairs, before = step.models * step.attacks, found[-1].samples if found else 0
            first_met = 0 if found else pairs
            found.append(StageCeiling(step.samples, pairs, step.samples - before, first_met, step.attacks))
        return tuple(found)

    def most_pairs(self, models: int, attacks: int, samples: int, *, models_given: bool = False) -> int:
        """Return how many pairs are never exceeded: everybody meets everybody in the first stage."""
        return models * attacks


def _steps(models: int, attacks: int, samples: int, models_given: bool) -> Iterator[_Ladder2Step]:
    left = {Side.MODEL: models, Side.ATTACK: attacks}
    for count, of_models, of_attacks in _CUTS:
        kept = {Side.MODEL: models if models_given else of_models.of(models), Side.ATTACK: of_attacks.of(attacks)}
        if kept != left:
            entering = left[Side.MODEL], left[Side.ATTACK]
            yield _Ladder2Step(min(count, samples), *entering, kept[Side.MODEL], kept[Side.ATTACK], last=False)
            left = kept
    models, attacks = left[Side.MODEL], left[Side.ATTACK]
    yield _Ladder2Step(samples, models, attacks, models, attacks, last=True)
