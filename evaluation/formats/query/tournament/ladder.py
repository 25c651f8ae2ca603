"""The panel ladder: all remaining players meet only the other side's panel, on growing nested samples.

| stage | samples | places kept of N      | panel |
|-------|---------|-----------------------|-------|
| 1     | 8       | half, at least 20     | 10    |
| 2     | 16      | a quarter, at least 16| 10    |
| 3     | 40      | a seventh, at least 14| 10    |
| 4     | 100     | 10                    | 10    |
| last  | all     | all                   | all   |

The places of each side follow from its own N. A stage that would eliminate no player of either side is left out, and
sample counts end at those of the field. A stage chooses the panels, plays, computes the recursive top five of the
panels (`counted_players`) and orders each side against it by mean rank within samples. In the last stage all remaining
players meet, ordered by the paper's medians.

A panel is the five best so far, and then, one by one, the player that is ahead of the whole panel on most pairs of
opponent and sample of the stage before: attacks that are close where the others are far, models that are robust where
the others are not. Five alone are too similar where an attack suits some models and not others (`docs/statistics.md`).
The prior chooses the first panels and eliminates no player.

In the first stage played, panels are chosen again, once, where no member of a panel is among the new first five, or
where a whole side ties, because its opponents do not separate its players. The tie is the only addition to the protocol
that was simulated: otherwise, with fewer than five working attacks, a panel of attacks that never succeed would let the
order of entry cut models.

At a cut, the guard keeps all players down to the last one that does not lose to the fifth by a one-sided sign test over
the samples, up to 30 % more places. It never spares a player that met no opponent.

A side of ten or fewer is never cut, and where both are so small the last stage is the only one. Where no attack ever
succeeds, all values are equal and the order of entry decides, on both sides. With given models there are no panels: all
remaining attacks meet all of them, and only attacks are ordered and cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.ordering import RankedSide
from evaluation.formats.query.tournament.schedule_input import TOP, Field, Played
from evaluation.formats.query.tournament.schedule_output import OrderedBy, Plan, StageCeiling, most_triples
from evaluation.formats.query.tournament.schedule_replay import Cut, Measured, TournamentReplay

FINALISTS = 10

_SIGNIFICANT = 20
"""Inverse of the guard's level: 20 is 5 %."""


@dataclass(frozen=True)
class _LadderStep:
    """A stage before the last: it keeps one in `part` of a side, at least `least`."""

    samples: int
    part: int | None
    least: int
    panel: int

    def places(self, players: int) -> int:
        """Return the places of a side that began with `players`."""
        share = 0 if self.part is None else -(-players // self.part)
        return max(self.least, share)


_STEPS = (
    _LadderStep(8, 2, 20, 10),
    _LadderStep(16, 4, 16, 10),
    _LadderStep(40, 7, 14, 10),
    _LadderStep(100, None, FINALISTS, 10),
)


@dataclass(frozen=True)
class Ladder:
    """The recommended schedule, with or without the guard."""

    guard: bool = False

    def plan(self, field: Field, played: Played) -> Plan:
        """Return the state of the tournament, given everything played so far (in any order)."""
        replay = TournamentReplay(field, played)
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
        """Return the sample counts at which stages may end, ascending, the last one `samples`."""
        return (*(step.samples for step in _STEPS if step.samples < samples), samples)

    def ceilings(
        self, models: int, attacks: int, samples: int, *, models_given: bool = False
    ) -> tuple[StageCeiling, ...]:
        """Return what each stage plays at most: every panel has all new members, and the first one is chosen twice.

        One stage of all against all where that is less.

        It can be exceeded only where all models of a panel leave as inconsistent and another panel is chosen.

        100,800 for 100 and 100 on 200 samples without the guard. With given models: the number played where no pair is
        of one team.
        """
        found = tuple(self._ceilings(models, attacks, samples, models_given))
        everything = StageCeiling(samples, models * attacks, samples, models * attacks, attacks)
        return found if most_triples(found) <= everything.triples else (everything,)

    def most_pairs(self, models: int, attacks: int, samples: int, *, models_given: bool = False) -> int:
        """Return how many pairs are never exceeded, as `ceiling` counts."""
        if models_given:
            return models * attacks
        stages = self._ceilings(models, attacks, samples, models_given)
        return min(sum(each.first_met for each in stages), models * attacks)

    def _ceilings(self, models: int, attacks: int, samples: int, models_given: bool) -> Iterator[StageCeiling]:
        """Yield what each stage may ask for at most. New members of a panel have played no sample before."""
        before, factor = 0, 2
        in_models, in_attacks = models, attacks
        for step in _steps(models, attacks, models_given):
            count = min(step.samples, samples)
            if models_given:
                pairs = in_models * in_attacks
                yield StageCeiling(count, pairs, count - before, 0 if before else pairs, in_attacks)
            else:
                panel_models, panel_attacks = min(step.panel, in_models), min(step.panel, in_attacks)
                pairs = in_models * panel_attacks + panel_models * in_attacks - panel_models * panel_attacks
                yield StageCeiling(count, factor * pairs, count, factor * pairs, in_attacks)
                in_models = min(in_models, self._most(step.places(models)))
            in_attacks = min(in_attacks, self._most(step.places(attacks)))
            before, factor = count, 1
        pairs, played = in_models * in_attacks, before if models_given else 0
        yield StageCeiling(samples, pairs, samples - played, 0 if played else pairs, in_attacks)

    def _cut(self, order: RankedSide, places: int) -> Cut:
        players = len(order.players)
        if places >= players or not self.guard:
            return Cut(min(places, players))
        last = max(not_behind(order), default=0) + 1
        return Cut(places, max(0, min(last, self._most(places)) - places))

    def _most(self, places: int) -> int:
        return places * 13 // 10 if self.guard else places


def _steps(models: int, attacks: int, models_given: bool) -> Iterator[_LadderStep]:
    """Yield the stages before the last that eliminate players."""
    for step in _STEPS:
        if step.places(attacks) < attacks or (step.places(models) < models and not models_given):
            yield step


def _stage(
    replay: TournamentReplay, played: Played, step: _LadderStep, before: Measured | None
) -> tuple[Measured | None, bool]:
    """Return what a stage before the last measured, None where triples lack; and True if its panels were renewed."""
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
    renewed = [_panel(field, played, order.side, order.players, measured, step.panel) for order, _ in sides]
    if all(set(panel) == set(new) for (_, panel), new in zip(sides, renewed, strict=True)):
        return measured, False
    return replay.measure(renewed[0], renewed[1], samples, OrderedBy.MEAN_RANK), True


def _ties(order: RankedSide) -> bool:
    """Return True if all players of a side that met an opponent have the same value."""
    values = [value for value in order.values if value is not None]
    return len(values) > 1 and len(set(values)) == 1


def _panel(
    field: Field, played: Played, side: Side, order: Sequence[int], before: Measured | None, size: int
) -> tuple[int, ...]:
    """Return the five best of `order`, then those that were most often ahead of the whole panel in stage `before`."""
    if before is None:
        return tuple(order[:size])
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
    while rest and len(chosen) < size:
        # among equals the better placed: argmax returns the first largest count
        best = rest.pop(int(np.argmax(np.count_nonzero(values[rest] < ahead, axis=1))))
        ahead = np.minimum(ahead, values[best])
        chosen.append(best)
    return tuple(order[row] for row in chosen)


def not_behind(order: RankedSide) -> Iterator[int]:
    """Yield those of `order` that the sign test does not separate from the fifth; none without an opponent."""
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
    """Return how many of the 2 ** `tosses` outcomes of a fair coin have at most `most` heads."""
    return sum(comb(tosses, heads) for heads in range(most + 1))
