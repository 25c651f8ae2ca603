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
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side
from evaluation.tournament.counted_players import counted
from evaluation.tournament.entrants import TOP, Entrant, Field
from evaluation.tournament.halving import Halving
from evaluation.tournament.ladder import Ladder
from evaluation.tournament.ordering import ranked
from evaluation.tournament.schedule import Demand, OrderedBy, Plan, Schedule
from evaluation.tournament.simulated_players import EVERYBODY, PLAYERS, World, tournament_world

SAMPLES = 200
TRUTH_SAMPLES = 2000
"""Fresh samples behind a truth. The line `truth-again` shows its remaining noise."""

CANDIDATES = 40
"""Number of candidates of each side for the truth: the best on the samples played; players found are added."""

GPU_DAYS_PER_TRIPLE = 40 / 86_400
"""A triple is 1,000 queries of 40 ms (Brendel et al. 2020, section 4.1.3)."""

_CHUNK = 250
"""Samples that are drawn together for the truth, which bounds the memory."""

_LONGER = 285
"""Samples with which a round by the ladder costs about as much as the guard on 200."""

LADDER_LONGER = f"ladder-{_LONGER}"
_SCHEDULES: Mapping[str, tuple[Schedule, int]] = {
    "halving": (Halving(), SAMPLES),
    "ladder": (Ladder(), SAMPLES),
    "ladder-guard": (Ladder(guard=True), SAMPLES),
    LADDER_LONGER: (Ladder(), _LONGER),
}
"""The simulated schedules, each with its number of samples."""

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
)
"""`recall`: the share of the true five that was found. `rank1`: whether the true first was found first. `loss`: by what
percentage the five found are worse than the true five, in the geometric mean of true scores. `agreement`: the share
found of the five that a full tournament finds on the same samples."""


@dataclass(frozen=True)
class _Task:
    regime: str
    seed: int
    number: int


@dataclass(frozen=True)
class _Truth:
    orders: Five
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
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_play, tasks)


def _play(task: _Task) -> list[Finding]:
    """Play one tournament under all schedules. `halving` pays each of its rounds in full, as the paper counts."""
    world = tournament_world(task.regime, task.seed, task.number)
    distances = world.draw(EVERYBODY, EVERYBODY, max(samples for _, samples in _SCHEDULES.values()))
    entrants, priors = tuple(Entrant(str(number)) for number in EVERYBODY), world.prior()
    everybody = _all_against_all(distances[:, :, :SAMPLES], EVERYBODY, EVERYBODY)[0]
    found: dict[str, tuple[int, Five]] = {"everybody": (PLAYERS * PLAYERS * SAMPLES, everybody)}
    for name, (schedule, samples) in _SCHEDULES.items():
        plan = schedule.plan(Field(entrants, entrants, *priors, samples), distances[:, :, :samples])
        if name == "halving":
            in_full = sum(len(each.models) * len(each.attacks) * each.samples for each in plan.demands)
            found["halving-in-full"] = in_full, _five(plan)
        found[name] = _triples_reused(plan.demands), _five(plan)
    looked_at = {
        side: sorted({*everybody[side][:CANDIDATES], *(one for _, five in found.values() for one in five[side][:TOP])})
        for side in Side
    }
    truth = _truth(world, looked_at)
    found["truth-again"] = PLAYERS * PLAYERS * TRUTH_SAMPLES, _truth(world, looked_at).orders
    return [
        Finding(task.regime, name, _measures(triples, five, truth, everybody))
        for name, (triples, five) in found.items()
    ]


def _five(plan: Plan) -> Five:
    assert plan.result is not None  # noqa: S101 - everything was played
    return {
        Side.MODEL: [int(name) for name in plan.result.models[:TOP]],
        Side.ATTACK: [int(name) for name in plan.result.attacks[:TOP]],
    }


def _truth(world: World, among: Five) -> _Truth:
    models, attacks = among[Side.MODEL], among[Side.ATTACK]
    distances = np.empty((len(models), len(attacks), TRUTH_SAMPLES))
    for start in range(0, TRUTH_SAMPLES, _CHUNK):
        end = min(start + _CHUNK, TRUTH_SAMPLES)
        distances[:, :, start:end] = world.draw(models, attacks, end - start)
    return _Truth(*_all_against_all(distances, models, attacks))


def _all_against_all(
    distances: NDArray[np.float64], models: Sequence[int], attacks: Sequence[int]
) -> tuple[Five, Mapping[Side, Mapping[int, float]]]:
    """Return the order of both sides after all players met, and the logarithms of their scores."""
    who = counted(distances, models, attacks, OrderedBy.MEDIAN)
    rows = [models.index(model) for model in who.models]
    columns = [attacks.index(attack) for attack in who.attacks]
    orders = (
        ranked(Side.MODEL, models, distances[:, columns], OrderedBy.MEDIAN),
        ranked(Side.ATTACK, attacks, distances[rows].transpose(1, 0, 2), OrderedBy.MEDIAN),
    )
    logs = {
        order.side: {
            player: math.log(value) for player, value in zip(order.players, order.values, strict=True) if value
        }
        for order in orders
    }
    return {order.side: order.players for order in orders}, logs


def _measures(triples: int, found: Five, truth: _Truth, everybody: Five) -> Mapping[str, float]:
    values = [triples * GPU_DAYS_PER_TRIPLE]
    sides = (Side.MODEL, Side.ATTACK)
    values += [_shared(truth.orders[side], found[side]) for side in sides]
    values += [float(truth.orders[side][0] == found[side][0]) for side in sides]
    values += [_loss(truth, found, side) for side in sides]
    values += [_shared(everybody[side], found[side]) for side in sides]
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
    best, chosen = (math.fsum(logs[player] for player in five[side][:TOP]) / TOP for five in (truth.orders, found))
    return 100 * math.expm1(best - chosen if side is Side.MODEL else chosen - best)
