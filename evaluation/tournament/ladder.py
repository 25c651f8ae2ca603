"""The panel ladder: everybody still in meets only the other side's panel, on ever more nested samples.

| stage | samples | places kept of N      | panel |
|-------|---------|-----------------------|-------|
| 1     | 8       | half, at least 20     | 5     |
| 2     | 16      | a quarter, at least 16| 5     |
| 3     | 40      | a seventh, at least 14| 6     |
| 4     | 100     | 10                    | 7     |
| last  | all     | everybody stays       | all   |

Each side has its places from its own N. A stage that would cut nobody on either side is left out, and sample counts
end at those of the field. A stage seats the panels (the five best so far, then members of the panel before, then the
next best), plays, takes the recursive top five of the panels (`counting`) and orders each side against it by mean rank
within samples. In the last stage everybody still in meets everybody, ordered by the paper's medians.

In the first stage played, panels are seated anew, once, where no member of one of them is among the new first five, or
where a whole side ties: it met nobody who tells its players apart. The tie is our one addition to the report: a panel
of dead attacks would else let entry cut models where fewer than five attacks live.

The guard keeps, at a cut, everybody down to the last who does not lose to the fifth by a one-sided sign test over the
samples, those between the cut and that one too, up to 30 % more places; it never spares a player that met nobody.
A prior seats the first panels and eliminates nobody.

A side of ten or fewer is never cut, and where both are so small the last stage is the only one. Where all attacks are
dead, all values are equal and entry decides, on both sides. With given models there are no panels: every attack still
in meets all of them, and only attacks are ordered and cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np

from evaluation.domain.players import Side
from evaluation.tournament.field import TOP, Field, Played
from evaluation.tournament.ordering import Ranked
from evaluation.tournament.plan import OrderedBy, Plan
from evaluation.tournament.replay import Cut, Measured, Replay

FINALISTS = 10

_SIGNIFICANT = 20
"""The guard's level is one in so many: 5 %."""


@dataclass(frozen=True)
class _Step:
    """A stage before the last: the places kept are one in `part` of a side, at least `least`."""

    samples: int
    part: int | None
    least: int
    panel: int

    def places(self, players: int) -> int:
        """Of a side that began with `players`."""
        share = 0 if self.part is None else -(-players // self.part)
        return max(self.least, share)


_STEPS = (_Step(8, 2, 20, 5), _Step(16, 4, 16, 5), _Step(40, 7, 14, 6), _Step(100, None, FINALISTS, 7))


@dataclass(frozen=True)
class Ladder:
    """The recommended schedule, with or without the guard."""

    guard: bool = False

    def plan(self, field: Field, played: Played) -> Plan:
        """Where the tournament stands, given everything played so far (in whatever order it arrived)."""
        replay = Replay(field, played)
        began = {Side.MODEL: len(field.models), Side.ATTACK: len(field.attacks)}
        before: tuple[Sequence[int], Sequence[int]] = ((), ())
        first = True
        for step in _steps(len(field.models), len(field.attacks), field.models_given):
            measured, renewed = _stage(replay, step, before, may_renew=first and not field.models_given)
            if measured is None:
                return replay.plan()
            cut_models = self._cut(measured.models, step.places(began[Side.MODEL])) if measured.models else None
            cut_attacks = self._cut(measured.attacks, step.places(began[Side.ATTACK]))
            replay.close(measured, cut_models, cut_attacks, renewed=renewed)
            before, first = (measured.panel_models, measured.panel_attacks), False
        measured = replay.measure(replay.models, replay.attacks, field.samples, OrderedBy.MEDIAN)
        if measured is not None:
            replay.close(measured, None, None)
        return replay.plan()

    def samples_of_stages(self, samples: int) -> tuple[int, ...]:
        """The sample counts at which stages may end, ascending, the last one `samples`."""
        return (*(step.samples for step in _STEPS if step.samples < samples), samples)

    def ceiling(self, models: int, attacks: int, samples: int, *, models_given: bool = False) -> int:
        """The triples that are never exceeded: every panel is quite another one than before, the first one twice.

        Only where all models of a panel leave as inconsistent, and another one is seated, can it be more.

        69,860 for 100 and 100 on 200 samples without the guard. With given models: what is played where no pair is of
        one team.
        """
        total, before, factor = 0, 0, 2
        in_models, in_attacks = models, attacks
        for step in _steps(models, attacks, models_given):
            count = min(step.samples, samples)
            if models_given:
                total += in_models * in_attacks * (count - before)
            else:
                panel_models, panel_attacks = min(step.panel, in_models), min(step.panel, in_attacks)
                pairs = in_models * panel_attacks + panel_models * in_attacks - panel_models * panel_attacks
                total += factor * pairs * count
                in_models = min(in_models, self._most(step.places(models)))
            in_attacks = min(in_attacks, self._most(step.places(attacks)))
            before, factor = count, 1
        total += in_models * in_attacks * (samples - (before if models_given else 0))
        return min(total, models * attacks * samples)

    def _cut(self, order: Ranked, places: int) -> Cut:
        players = len(order.players)
        if places >= players or not self.guard:
            return Cut(min(places, players))
        last = max(not_behind(order), default=0) + 1
        return Cut(places, max(0, min(last, self._most(places)) - places))

    def _most(self, places: int) -> int:
        return places * 13 // 10 if self.guard else places


def _steps(models: int, attacks: int, models_given: bool) -> Iterator[_Step]:
    """The stages before the last that cut somebody."""
    for step in _STEPS:
        if step.places(attacks) < attacks or (step.places(models) < models and not models_given):
            yield step


def _stage(
    replay: Replay, step: _Step, before: tuple[Sequence[int], Sequence[int]], *, may_renew: bool
) -> tuple[Measured | None, bool]:
    """What a stage before the last measured, None where triples lack; and whether its panels were seated anew."""
    samples = min(step.samples, replay.field.samples)
    models = _seats(replay.models, before[0], step.panel)
    attacks = _seats(replay.attacks, before[1], step.panel)
    measured = replay.measure(models, attacks, samples, OrderedBy.MEAN_RANK)
    if not may_renew or measured is None or measured.models is None:
        return measured, False
    sides = ((measured.models, measured.panel_models), (measured.attacks, attacks))
    if not any(set(panel).isdisjoint(order.players[:TOP]) or _ties(order) for order, panel in sides):
        return measured, False
    anew = [_seats(order.players, panel, step.panel) for order, panel in sides]
    if all(set(panel) == set(seats) for (_, panel), seats in zip(sides, anew, strict=True)):
        return measured, False
    return replay.measure(anew[0], anew[1], samples, OrderedBy.MEAN_RANK), True


def _ties(order: Ranked) -> bool:
    """Whether nothing tells the players of a side apart: all who met somebody have one value."""
    values = [value for value in order.values if value is not None]
    return len(values) > 1 and len(set(values)) == 1


def _seats(order: Sequence[int], before: Sequence[int], seats: int) -> tuple[int, ...]:
    """The panel: the five best of `order`, then those of the panel before, then the next best."""
    five, rest = order[:TOP], order[TOP:]
    return tuple((*five, *sorted(rest, key=lambda player: player not in before))[:seats])


def not_behind(order: Ranked) -> Iterator[int]:
    """Which of `order` are not worse than the fifth on too many samples to be chance; nobody that met nobody."""
    series = order.per_sample()
    ahead = series - series[TOP - 1]
    if order.side is Side.ATTACK:
        ahead = -ahead
    better, worse = np.count_nonzero(ahead > 0, axis=1).tolist(), np.count_nonzero(ahead < 0, axis=1).tolist()
    for index, (value, wins, losses) in enumerate(zip(order.values, better, worse, strict=True)):
        if value is not None and _SIGNIFICANT * _outcomes(wins, wins + losses) >= 2 ** (wins + losses):
            yield index


@cache
def _outcomes(most: int, tosses: int) -> int:
    """Of the 2 ** `tosses` outcomes of a fair coin, those with at most `most` heads."""
    return sum(comb(tosses, heads) for heads in range(most + 1))
