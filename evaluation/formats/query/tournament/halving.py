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

from evaluation.formats.query.tournament.replay import Cut, TournamentReplay
from evaluation.formats.query.tournament.schedule_input import Field, Played
from evaluation.formats.query.tournament.schedule_output import OrderedBy, Plan, StageCeiling

FIRST_SAMPLES = 10
FINALISTS = 10
_SMALLEST_HALF = 15


@dataclass(frozen=True)
class _Round:
    """One round: `models` and `attacks` enter it; those who stay enter the next round, None after the last."""

    samples: int
    models: int
    attacks: int
    last: bool


@dataclass(frozen=True)
class Halving:
    """The paper's schedule."""

    def plan(self, field: Field, played: Played) -> Plan:
        """Return the state of the tournament, given everything played so far (in any order)."""
        replay = TournamentReplay(field, played)
        rounds = _rounds(len(field.models), len(field.attacks), field.samples, field.models_given)
        for step in rounds:
            measured = replay.measure(replay.models, replay.attacks, step.samples, OrderedBy.MEDIAN)
            if measured is None:
                break
            if step.last:
                replay.close(measured, None, None)
            else:
                models = Cut(min(_half(step.models), len(measured.models.players))) if measured.models else None
                replay.close(measured, models, Cut(_half(step.attacks)))
        return replay.plan()

    def samples_of_stages(self, samples: int) -> tuple[int, ...]:
        """Return the sample counts at which stages may end, ascending, the last one `samples`."""
        ends, count = [], FIRST_SAMPLES
        while count < samples:
            ends.append(count)
            count *= 2
        return (*ends, samples)

    def ceilings(
        self, models: int, attacks: int, samples: int, *, models_given: bool = False
    ) -> tuple[StageCeiling, ...]:
        """Return what each stage plays: exactly this where no pair is of one team."""
        found: list[StageCeiling] = []
        for step in _rounds(models, attacks, samples, models_given):
            pairs, before = step.models * step.attacks, found[-1].samples if found else 0
            first_met = 0 if found else pairs
            found.append(StageCeiling(step.samples, pairs, step.samples - before, first_met, step.attacks))
        return tuple(found)

    def most_pairs(self, models: int, attacks: int, samples: int, *, models_given: bool = False) -> int:
        """Return how many pairs are never exceeded: everybody meets everybody in the first round."""
        return models * attacks


def _rounds(models: int, attacks: int, samples: int, models_given: bool) -> Iterator[_Round]:
    count = FIRST_SAMPLES
    while attacks > FINALISTS or (models > FINALISTS and not models_given):
        yield _Round(min(count, samples), models, attacks, last=False)
        models, attacks = models if models_given else _half(models), _half(attacks)
        count *= 2
    yield _Round(samples, models, attacks, last=True)


def _half(players: int) -> int:
    half = -(-players // 2)
    return min(players, half if half >= _SMALLEST_HALF else FINALISTS)
