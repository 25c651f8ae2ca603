"""Cost and accuracy of the schedules in simulated tournaments with known truth: 100 + 100 players.

The truth is measured on fresh samples: the same players, other samples than those that the schedules play, and many
more of them. So errors of 200 samples count against every schedule, and also against all players meeting all. The
agreement with that full tournament on the same 200 samples is reported separately: it shows what a schedule loses by
not playing everything, and says nothing about how good 200 samples are.

The schedules are those that rounds run; orders are by the paper's medians after the recursive top five.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.counted_players import Counted, counted
from evaluation.formats.query.tournament.halving import Halving
from evaluation.formats.query.tournament.ladder import Ladder
from evaluation.formats.query.tournament.ladder_2 import Ladder2
from evaluation.formats.query.tournament.ordering import ranked
from evaluation.formats.query.tournament.schedule_input import TOP, Field, ScheduledPlayer
from evaluation.formats.query.tournament.schedule_output import Demand, OrderedBy, Plan, Schedule
from evaluation.formats.query.tournament.simulated_players import EVERYBODY, PLAYERS, tournament_world
from evaluation.parsing.process_pool import process_pool

SAMPLES = 200
TRUTH_SAMPLES = 1000
"""Fresh samples behind a truth. The line `truth-again` shows its remaining noise."""

GPU_DAYS_PER_TRIPLE = 40 / 86_400
"""A triple is 1,000 queries of 40 ms (Brendel et al. 2020, section 4.1.3)."""

_SMALLEST = 0.01
"""The score of a model that is wrong on most clean samples, for the loss."""

_SCHEDULES: Mapping[str, Schedule] = {
    "halving": Halving(),
    "ladder-2": Ladder2(),
    "ladder": Ladder(),
    "ladder-guard": Ladder(guard=True),
}

Five = Mapping[Side, Sequence[int]]
"""The order of each side, best first; only its first five are used."""


@dataclass(frozen=True)
class Finding:
    """Cost and result of a schedule in one tournament; `measures` are named by `MEASURES`."""

    regime: str
    schedule: str
    measures: Mapping[str, float]


MEASURES = (
    "gpu_days",
    *(f"{name}_{side}" for name in ("recall", "rank1", "loss", "agreement") for side in ("models", "attacks")),
    *(f"{name}_{side}" for name in ("reaches", "counting") for side in ("models", "attacks")),
    "loop",
    "loop_size",
)
"""`recall`: the share of the true five that was found. `rank1`: whether the true first was found first. `loss`: by what
percentage the five found are worse than the true five, in the geometric mean of true scores. `agreement`: the share
found of the five that a full tournament finds on the same samples. `reaches`: whether the true first reaches the last
stage. `counting`: the number of players that count in it; `loop`: whether they end in a loop, of `loop_size` sets of
five (1 without a loop)."""


@dataclass(frozen=True)
class _Task:
    regime: str
    seed: int
    number: int


@dataclass(frozen=True)
class _Found:
    """The order of both sides and who plays and counts in the last stage."""

    orders: Five
    last: Five
    counted: Counted


@dataclass(frozen=True)
class _Truth:
    found: _Found
    logs: Mapping[Side, Mapping[int, float]]
    """The logarithm of the true score of each candidate."""


def simulate(
    regimes: Sequence[str], tournaments: int, *, jobs: int, seed: int, on_tournament: Callable[[], object]
) -> list[Finding]:
    """Yield the findings of `tournaments` simulated tournaments in each regime, in `jobs` processes.

    Equal arguments give equal findings, whatever `jobs` is. Raise `KeyError` for a regime that does not exist.
    """
    tasks = [_Task(regime, seed, number) for regime in regimes for number in range(tournaments)]
    findings: list[Finding] = []
    for found in _spread(tasks, min(jobs, len(tasks))):
        findings += found
        on_tournament()
    return findings


def _spread(tasks: Sequence[_Task], jobs: int) -> Iterator[list[Finding]]:
    if jobs < 2:
        yield from map(_play, tasks)
        return
    with process_pool(jobs) as pool:
        yield from pool.map(_play, tasks)


def _play(task: _Task) -> list[Finding]:
    """Play one tournament under all schedules. `halving` pays each of its rounds in full, as the paper counts."""
    world = tournament_world(task.regime, task.seed, task.number)
    distances = world.draw(EVERYBODY, EVERYBODY, SAMPLES)
    entrants, priors = tuple(ScheduledPlayer(str(number)) for number in EVERYBODY), world.prior()
    everybody = _all_against_all(distances).found
    found: dict[str, tuple[int, _Found]] = {"everybody": (PLAYERS * PLAYERS * SAMPLES, everybody)}
    for name, schedule in _SCHEDULES.items():
        plan = schedule.plan(Field(entrants, entrants, *priors, SAMPLES), distances)
        if name == "halving":
            in_full = sum(len(each.models) * len(each.attacks) * each.samples for each in plan.demands)
            found["halving-in-full"] = in_full, _found(plan)
        found[name] = _triples_reused(plan.demands), _found(plan)
    truth, again = (_all_against_all(world.draw(EVERYBODY, EVERYBODY, TRUTH_SAMPLES)) for _ in range(2))
    found["truth-again"] = PLAYERS * PLAYERS * TRUTH_SAMPLES, again.found
    return [
        Finding(task.regime, name, _measures(triples, one, truth, everybody.orders))
        for name, (triples, one) in found.items()
    ]


def _found(plan: Plan) -> _Found:
    assert plan.result is not None  # noqa: S101 - everything was played
    last = plan.stages[-1]
    stayed = {side: [int(one.name) for one in last.decisions if one.side is side] for side in Side}
    models, attacks = (tuple(map(int, names)) for names in (last.counted_models, last.counted_attacks))
    return _Found(stayed, stayed, Counted(models, attacks, last.loop))


def _all_against_all(distances: NDArray[np.float64]) -> _Truth:
    """Return the outcome after all players met on all of the samples."""
    who = counted(distances, EVERYBODY, EVERYBODY, OrderedBy.MEDIAN)
    orders = (
        ranked(Side.MODEL, EVERYBODY, distances[:, who.attacks], OrderedBy.MEDIAN),
        ranked(Side.ATTACK, EVERYBODY, distances[who.models, :].transpose(1, 0, 2), OrderedBy.MEDIAN),
    )
    logs = {
        order.side: {
            player: math.log(max(value or 0, _SMALLEST))
            for player, value in zip(order.players, order.values, strict=True)
        }
        for order in orders
    }
    found = _Found({order.side: order.players for order in orders}, dict.fromkeys(Side, EVERYBODY), who)
    return _Truth(found, logs)


def _measures(triples: int, found: _Found, truth: _Truth, everybody: Five) -> Mapping[str, float]:
    values = [triples * GPU_DAYS_PER_TRIPLE]
    sides = (Side.MODEL, Side.ATTACK)
    orders, true = found.orders, truth.found.orders
    values += [_shared(true[side], orders[side]) for side in sides]
    values += [float(true[side][0] == orders[side][0]) for side in sides]
    values += [_loss(truth, orders, side) for side in sides]
    values += [_shared(everybody[side], orders[side]) for side in sides]
    values += [float(true[side][0] in found.last[side]) for side in sides]
    values += [len(found.counted.models), len(found.counted.attacks), found.counted.loop > 1, found.counted.loop]
    return dict(zip(MEASURES, values, strict=True))


def _triples_reused(demands: Sequence[Demand]) -> int:
    played = np.zeros((PLAYERS, PLAYERS), dtype=np.int64)
    for demand in demands:
        pairs = np.ix_(demand.models, demand.attacks)
        played[pairs] = np.maximum(played[pairs], demand.samples)
    return int(played.sum())


def _shared(first: Sequence[int], second: Sequence[int]) -> float:
    return len(set(first[:TOP]) & set(second[:TOP])) / TOP


def _loss(truth: _Truth, found: Five, side: Side) -> float:
    """Return the loss in per cent."""
    logs = truth.logs[side]
    best, chosen = (
        math.fsum(logs[player] for player in five[side][:TOP]) / TOP for five in (truth.found.orders, found)
    )
    return 100 * math.expm1(best - chosen if side is Side.MODEL else chosen - best)
