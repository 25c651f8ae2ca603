"""The panel ladder: everybody still in meets only the other side's panel, on ever more nested samples.

| stage | samples | places kept of N      | panel |
|-------|---------|-----------------------|-------|
| 1     | 8       | half, at least 20     | 10    |
| 2     | 16      | a quarter, at least 16| 10    |
| 3     | 40      | a seventh, at least 14| 10    |
| 4     | 100     | 10                    | 10    |
| last  | all     | everybody stays       | all   |

Each side has its places from its own N. A stage that would cut nobody on either side is left out, and sample counts
end at those of the field. A stage seats the panels, plays, takes the recursive top five of the panels (`counting`) and
orders each side against it by mean rank within samples. In the last stage everybody still in meets everybody, ordered
by the paper's medians.

A panel is the five best so far, and then, one by one, whoever is ahead of the whole panel on most pairs of opponent and
sample of the stage before: attacks that are near where the others are far, models that hold where the others fall.
Five alone are of too few kinds where an attack suits some models and not others (`docs/statistics.md`). The prior seats
the first panels and eliminates nobody.

In the first stage played, panels are seated anew, once, where no member of one of them is among the new first five, or
where a whole side ties: it met nobody who tells its players apart. The tie is our one addition to the report: a panel
of dead attacks would else let entry cut models where fewer than five attacks live.

The guard keeps, at a cut, everybody down to the last who does not lose to the fifth by a one-sided sign test over the
samples, those between the cut and that one too, up to 30 % more places; it never spares a player that met nobody.

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
from evaluation.tournament.entrants import TOP, Field, Played
from evaluation.tournament.ordering import Ranked
from evaluation.tournament.replay import Cut, Measured, Replay
from evaluation.tournament.schedule import OrderedBy, Plan

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


_STEPS = (_Step(8, 2, 20, 10), _Step(16, 4, 16, 10), _Step(40, 7, 14, 10), _Step(100, None, FINALISTS, 10))


@dataclass(frozen=True)
class Ladder:
    """The recommended schedule, with or without the guard."""

    guard: bool = False

    def plan(self, field: Field, played: Played) -> Plan:
        """Where the tournament stands, given everything played so far (in whatever order it arrived)."""
        replay = Replay(field, played)
        began = {Side.MODEL: len(field.models), Side.ATTACK: len(field.attacks)}
        before: Measured | None = None
        for step in _steps(len(field.models), len(field.attacks), field.models_given):
            measured, renewed = _stage(replay, played, step, before)
            if measured is None:
                return replay.plan()
            cut_models = self._cut(measured.models, step.places(began[Side.MODEL])) if measured.models else None
            cut_attacks = self._cut(measured.attacks, step.places(began[Side.ATTACK]))
            replay.close(measured, cut_models, cut_attacks, renewed=renewed)
            before = measured
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

        100,800 for 100 and 100 on 200 samples without the guard. With given models: what is played where no pair is of
        one team.
        """
        demands = self._demands(models, attacks, samples, models_given)
        return min(sum(pairs * count for pairs, count in demands), models * attacks * samples)

    def most_pairs(self, models: int, attacks: int, samples: int, *, models_given: bool = False) -> int:
        """Return how many pairs are never exceeded, as `ceiling` counts."""
        if models_given:
            return models * attacks
        return min(sum(pairs for pairs, _ in self._demands(models, attacks, samples, models_given)), models * attacks)

    def _demands(self, models: int, attacks: int, samples: int, models_given: bool) -> Iterator[tuple[int, int]]:
        """Yield what each stage may ask for at most: so many pairs, each on so many samples more."""
        before, factor = 0, 2
        in_models, in_attacks = models, attacks
        for step in _steps(models, attacks, models_given):
            count = min(step.samples, samples)
            if models_given:
                yield in_models * in_attacks, count - before
            else:
                panel_models, panel_attacks = min(step.panel, in_models), min(step.panel, in_attacks)
                pairs = in_models * panel_attacks + panel_models * in_attacks - panel_models * panel_attacks
                yield factor * pairs, count
                in_models = min(in_models, self._most(step.places(models)))
            in_attacks = min(in_attacks, self._most(step.places(attacks)))
            before, factor = count, 1
        yield in_models * in_attacks, samples - (before if models_given else 0)

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


def _stage(replay: Replay, played: Played, step: _Step, before: Measured | None) -> tuple[Measured | None, bool]:
    """What a stage before the last measured, None where triples lack; and whether its panels were seated anew."""
    field, samples = replay.field, min(step.samples, replay.field.samples)
    if field.models_given:
        return replay.measure((), (), samples, OrderedBy.MEAN_RANK), False
    models = _panel(field, played, Side.MODEL, replay.models, before, step.panel)
    attacks = _panel(field, played, Side.ATTACK, replay.attacks, before, step.panel)
    measured = replay.measure(models, attacks, samples, OrderedBy.MEAN_RANK)
    if before is not None or measured is None or measured.models is None:
        return measured, False
    sides = ((measured.models, measured.panel_models), (measured.attacks, attacks))
    if not any(set(panel).isdisjoint(order.players[:TOP]) or _ties(order) for order, panel in sides):
        return measured, False
    anew = [_panel(field, played, order.side, order.players, measured, step.panel) for order, _ in sides]
    if all(set(panel) == set(seats) for (_, panel), seats in zip(sides, anew, strict=True)):
        return measured, False
    return replay.measure(anew[0], anew[1], samples, OrderedBy.MEAN_RANK), True


def _ties(order: Ranked) -> bool:
    """Whether nothing tells the players of a side apart: all who met somebody have one value."""
    values = [value for value in order.values if value is not None]
    return len(values) > 1 and len(set(values)) == 1


def _panel(
    field: Field, played: Played, side: Side, order: Sequence[int], before: Measured | None, seats: int
) -> tuple[int, ...]:
    """The five best of `order`, then one by one whoever was ahead of the whole panel most often in stage `before`."""
    if before is None:
        return tuple(order[:seats])
    if side is Side.MODEL:
        distances = -played[:, :, : before.samples][np.ix_(order, before.panel_attacks)]
    else:
        distances = played[:, :, : before.samples][np.ix_(before.panel_models, order)]
        distances[field.own_pairs()[np.ix_(before.panel_models, order)]] = np.inf
        distances = distances.transpose(1, 0, 2)
    # (players, pairs of opponent and sample), where the smallest is ahead
    values = distances.reshape(len(order), -1)
    chosen, rest = list(range(len(order[:TOP]))), list(range(TOP, len(order)))
    ahead = values[chosen].min(axis=0)
    while rest and len(chosen) < seats:
        # the better placed of equals: the first that has the largest count
        best = rest.pop(int(np.argmax(np.count_nonzero(values[rest] < ahead, axis=1))))
        ahead = np.minimum(ahead, values[best])
        chosen.append(best)
    return tuple(order[row] for row in chosen)


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
