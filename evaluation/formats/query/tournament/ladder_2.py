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
from evaluation.formats.query.tournament.all_against_all_schedule import AllAgainstAllSchedule, FullStage
from evaluation.formats.query.tournament.schedule_output import OrderedBy

FINALISTS = 10


@dataclass(frozen=True)
class _Places:
    """Keep `percent` of a side, rounded up, and at least `least`."""

    percent: int
    least: int

    def of(self, players: int) -> int:
        """Return the places of a side that began with `players`."""
        return min(players, max(self.least, -(-players * self.percent // 100)))


_CUTS = (
    (2, _Places(75, 40), _Places(40, 28)),
    (5, _Places(40, 20), _Places(22, 18)),
    (20, _Places(0, FINALISTS), _Places(0, FINALISTS)),
)


@dataclass(frozen=True)
class Ladder2(AllAgainstAllSchedule):
    """The recommended schedule."""

    ordered_by = OrderedBy.MEAN_RANK

    def samples_of_stages(self, samples: int) -> tuple[int, ...]:
        """Return the sample counts at which stages may end, ascending, the last one `samples`."""
        return (*(count for count, _, _ in _CUTS if count < samples), samples)

    def stages(self, models: int, attacks: int, samples: int, models_given: bool) -> Iterator[FullStage]:
        left = {Side.MODEL: models, Side.ATTACK: attacks}
        for count, of_models, of_attacks in _CUTS:
            kept = {Side.MODEL: models if models_given else of_models.of(models), Side.ATTACK: of_attacks.of(attacks)}
            if kept != left:
                entering = left[Side.MODEL], left[Side.ATTACK]
                yield FullStage(min(count, samples), *entering, kept[Side.MODEL], kept[Side.ATTACK], last=False)
                left = kept
        models, attacks = left[Side.MODEL], left[Side.ATTACK]
        yield FullStage(samples, models, attacks, models, attacks, last=True)
