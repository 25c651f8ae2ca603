"""The protocol of Brendel et al. 2020, section 4.1.3: all remaining players meet, and the better half stays.

Rounds use 10, 20, 40, ... samples until ten of each side are left; those ten meet on all samples. After each round the
recursive top five (`counted_players`) of all remaining players is computed, and each side is ordered by the paper's
medians against it. The samples are nested and no triple is played twice, which changes no decision.

A half below fifteen becomes ten: of 100 players 50, 25 and 10 remain, as in the paper's own cost estimate. A side of
ten or fewer is never cut, and the larger side continues to be cut; where neither side has more than ten, the last round
is the only one. Where all samples are used up before ten are left, the further rounds use the results so far. With
given models only the attacks are ordered and cut, all of them against all models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evaluation.formats.query.tournament.all_against_all_schedule import AllAgainstAllSchedule, FullStage
from evaluation.formats.query.tournament.schedule_output import OrderedBy

FIRST_SAMPLES = 10
FINALISTS = 10
_SMALLEST_HALF = 15


@dataclass(frozen=True)
class Halving(AllAgainstAllSchedule):
    """The paper's schedule."""

    ordered_by = OrderedBy.MEDIAN

    def samples_of_stages(self, samples: int) -> tuple[int, ...]:
        """Return the sample counts at which stages may end, ascending, the last one `samples`."""
        ends, count = [], FIRST_SAMPLES
        while count < samples:
            ends.append(count)
            count *= 2
        return (*ends, samples)

    def stages(self, models: int, attacks: int, samples: int, models_given: bool) -> Iterator[FullStage]:
        count = FIRST_SAMPLES
        while attacks > FINALISTS or (models > FINALISTS and not models_given):
            kept = models if models_given else _half(models), _half(attacks)
            yield FullStage(min(count, samples), models, attacks, *kept, last=False)
            models, attacks = kept
            count *= 2
        yield FullStage(samples, models, attacks, models, attacks, last=True)


def _half(players: int) -> int:
    half = -(-players // 2)
    return min(players, half if half >= _SMALLEST_HALF else FINALISTS)
