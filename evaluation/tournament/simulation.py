"""What the schedules cost and find in simulated tournaments whose truth is known: 100 + 100 players, 200 samples.

The logarithm of a distance is `log 3 + model + sample - attack + model x sample + attack x sample + model x attack +
rest`, all of them normal, at most the distance to uniform grey (around 18). A triple fails with a chance that depends
on attack and model, and then takes that bound. The truth is everybody against everybody on all samples, ordered by the
paper's medians after the recursive top five. The schedules are those that rounds run; the world is plausible, not
fitted to a competition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side
from evaluation.tournament.counting import counted
from evaluation.tournament.field import TOP, Entrant, Field
from evaluation.tournament.halving import Halving
from evaluation.tournament.ladder import Ladder
from evaluation.tournament.ordering import Ranked, ranked
from evaluation.tournament.plan import Demand, OrderedBy, Plan

PLAYERS = 100
SAMPLES = 200
GPU_DAYS_PER_TRIPLE = 40 / 86_400
"""A triple is 1,000 queries of 40 ms (seed 000, 4.1.3)."""

_EVERYBODY = tuple(range(PLAYERS))
_PRIOR_SAMPLES = 50


@dataclass(frozen=True)
class Regime:
    """A kind of field: standard deviations of the effects, and the mean of the logit of a failure.

    `clones`: the share of each side that are near-copies of five baselines. `dead`: the share of attacks that never
    succeed and of models that fall at once. `split`: the share of models that are robust on about half of the samples.
    """

    model: float = 0.45
    attack: float = 0.50
    sample: float = 0.6
    model_sample: float = 0.35
    attack_sample: float = 0.15
    pair: float = 0.15
    rest: float = 0.35
    failure: float = -2.5
    clones: float = 0.0
    dead: float = 0.0
    split: float = 0.0


REGIMES = {
    "base": Regime(),
    "tight": Regime(model=0.18, attack=0.20),
    "noisy": Regime(sample=0.8, model_sample=0.60, attack_sample=0.40, rest=0.80, failure=-1.0),
    "interact": Regime(pair=0.50),
    "crowded": Regime(clones=0.5),
    "broken": Regime(dead=0.2),
    "bimodal": Regime(split=0.25),
}

_Floats = NDArray[np.float32]


class World:
    """The hidden strengths of one tournament's players; `draw` makes distances on fresh samples."""

    def __init__(self, seed: int, regime: Regime) -> None:
        self._regime = regime
        self._random = np.random.default_rng(seed)
        self.model = self._hidden(regime.model, PLAYERS)
        self.attack = self._hidden(regime.attack, PLAYERS)
        self._pair = self._hidden(regime.pair, PLAYERS, PLAYERS)
        self._failure = self._hidden(1.0, PLAYERS) + regime.failure
        if regime.clones:
            self._clone(self.model, regime.model)
            self._clone(self.attack, regime.attack)
        if regime.dead:
            self._failure[self._random.random(PLAYERS) < regime.dead] = 50
            self.model[self._random.random(PLAYERS) < regime.dead] -= 3
        self._split = self._random.random(PLAYERS) < regime.split
        self._robust_share = self._random.uniform(0.4, 0.65, PLAYERS)

    def draw(self, models: Sequence[int], attacks: Sequence[int], samples: int) -> NDArray[np.float64]:
        """(models, attacks, samples): distances."""
        regime, at, by = self._regime, np.array(models), np.array(attacks)
        logs = self._noise(regime.rest, len(at), len(by), samples)
        logs += (math.log(3) + self.model[at][:, None] - self.attack[by] + self._pair[np.ix_(at, by)])[:, :, None]
        logs += (self._noise(regime.sample, samples) + self._noise(regime.model_sample, len(at), samples))[:, None, :]
        logs += self._noise(regime.attack_sample, len(by), samples)
        if self._split.any():
            robust = self._random.random((len(at), samples)) < self._robust_share[at][:, None]
            shift = self._split[at][:, None] * np.where(robust, 0.5, -1.5)
            logs += shift.astype(np.float32)[:, None, :]
        bound = math.log(18) + self._noise(0.25, samples)
        chance = 1 / (1 + np.exp(-(self._failure[by][None, :] + 0.8 * self.model[at][:, None])))
        failed = self._random.random(logs.shape, dtype=np.float32) < chance[:, :, None]
        distances: NDArray[np.float64] = np.exp(np.where(failed, bound, np.minimum(logs, bound)).astype(np.float64))
        return distances

    def prior(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What continuous evaluation knew: 50 other samples against a stale top five, drawn from the best twenty."""
        attacks = self._random.choice(np.argsort(-self.attack)[:20], TOP, replace=False).tolist()
        models = self._random.choice(np.argsort(-self.model)[:20], TOP, replace=False).tolist()
        before_attacks = self.draw(_EVERYBODY, attacks, _PRIOR_SAMPLES)
        before_models = self.draw(models, _EVERYBODY, _PRIOR_SAMPLES).transpose(1, 0, 2)
        return (
            ranked(Side.MODEL, _EVERYBODY, before_attacks, OrderedBy.MEDIAN).players,
            ranked(Side.ATTACK, _EVERYBODY, before_models, OrderedBy.MEDIAN).players,
        )

    def _hidden(self, deviation: float, *shape: int) -> _Floats:
        return (deviation * self._random.standard_normal(shape)).astype(np.float32)

    def _noise(self, deviation: float, *shape: int) -> _Floats:
        return np.float32(deviation) * self._random.standard_normal(shape, dtype=np.float32)

    def _clone(self, strengths: _Floats, deviation: float) -> None:
        who = self._random.permutation(PLAYERS)[: int(self._regime.clones * PLAYERS)]
        baselines = np.linspace(0.4, 1.6, TOP)[self._random.integers(0, TOP, len(who))]
        strengths[who] = deviation * baselines + 0.02 * self._random.standard_normal(len(who))


@dataclass(frozen=True)
class Finding:
    """What a schedule cost and found, in one tournament or on the average of several.

    `recall`: the share of the true five that it found. `rank1`: whether its first is the true first. `loss`: by how
    many per cent its five are worse than the true five, in the geometric mean of true scores.
    """

    regime: str
    schedule: str
    gpu_days: float
    recall_models: float
    recall_attacks: float
    rank1_models: float
    rank1_attacks: float
    loss_models: float
    loss_attacks: float


_MEASURES = tuple(column.name for column in fields(Finding) if column.name not in {"regime", "schedule"})


@dataclass(frozen=True)
class _Task:
    regime: str
    seed: int


def simulate(
    regimes: Sequence[str], tournaments: int, *, jobs: int, seed: int, on_tournament: Callable[[], object]
) -> list[Finding]:
    """The findings of `tournaments` simulated tournaments in each regime, in `jobs` processes.

    The same arguments make the same findings, whatever `jobs` is. Raises `KeyError` for a regime that does not exist.
    """
    tasks = [_Task(regime, 1000 * number + seed) for regime in regimes for number in range(tournaments)]
    findings: list[Finding] = []
    for found in _spread(tasks, min(jobs, len(tasks))):
        findings += found
        on_tournament()
    return findings


def averages(findings: Sequence[Finding], regime: str | None = None) -> list[Finding]:
    """One line per schedule over all regimes (called `all`), or over one."""
    chosen = [finding for finding in findings if regime in (None, finding.regime)]
    rows = []
    for schedule in dict.fromkeys(finding.schedule for finding in chosen):
        of_it = [finding for finding in chosen if finding.schedule == schedule]
        means = {name: math.fsum(getattr(one, name) for one in of_it) / len(of_it) for name in _MEASURES}
        rows.append(Finding(regime=regime or "all", schedule=schedule, **means))
    return rows


def _spread(tasks: Sequence[_Task], jobs: int) -> Iterator[list[Finding]]:
    if jobs < 2:
        yield from map(_play, tasks)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_play, tasks)


def _play(task: _Task) -> list[Finding]:
    """One tournament under all schedules. `halving` pays each of its rounds in full, as the paper counts."""
    world = World(task.seed, REGIMES[task.regime])
    distances = world.draw(_EVERYBODY, _EVERYBODY, SAMPLES)
    who = counted(distances, _EVERYBODY, _EVERYBODY, OrderedBy.MEDIAN)
    models = ranked(Side.MODEL, _EVERYBODY, distances[:, who.attacks], OrderedBy.MEDIAN)
    attacks = ranked(Side.ATTACK, _EVERYBODY, distances[list(who.models)].transpose(1, 0, 2), OrderedBy.MEDIAN)
    entrants = tuple(Entrant(str(number)) for number in _EVERYBODY)
    model_prior, attack_prior = world.prior()
    field = Field(entrants, entrants, model_prior, attack_prior, SAMPLES)
    findings = []
    for name, schedule in (("halving", Halving()), ("ladder", Ladder()), ("ladder-guard", Ladder(guard=True))):
        plan = schedule.plan(field, distances)
        reused = _triples_reused(plan.demands)
        prices = {"halving": _triples_in_full(plan.demands), "halving-reused": reused}
        for label, triples in prices.items() if name == "halving" else ((name, reused),):
            findings.append(_finding(task.regime, label, triples, plan, (models, attacks)))
    return findings


def _finding(regime: str, schedule: str, triples: int, plan: Plan, truth: tuple[Ranked, Ranked]) -> Finding:
    assert plan.result is not None  # noqa: S101 - everything was played
    models, attacks = truth
    found_models = [int(name) for name in plan.result.models]
    found_attacks = [int(name) for name in plan.result.attacks]
    return Finding(
        regime=regime,
        schedule=schedule,
        gpu_days=triples * GPU_DAYS_PER_TRIPLE,
        recall_models=_recall(models, found_models),
        recall_attacks=_recall(attacks, found_attacks),
        rank1_models=float(found_models[0] == models.players[0]),
        rank1_attacks=float(found_attacks[0] == attacks.players[0]),
        loss_models=_loss(models, found_models),
        loss_attacks=_loss(attacks, found_attacks),
    )


def _triples_in_full(demands: Sequence[Demand]) -> int:
    return sum(len(demand.models) * len(demand.attacks) * demand.samples for demand in demands)


def _triples_reused(demands: Sequence[Demand]) -> int:
    played = np.zeros((PLAYERS, PLAYERS), dtype=np.int64)
    for demand in demands:
        pairs = np.ix_(demand.models, demand.attacks)
        played[pairs] = np.maximum(played[pairs], demand.samples)
    return int(played.sum())


def _recall(truth: Ranked, found: Sequence[int]) -> float:
    return len(set(found[:TOP]) & set(truth.players[:TOP])) / TOP


def _loss(truth: Ranked, found: Sequence[int]) -> float:
    """In per cent."""
    scores = {player: math.log(value) for player, value in zip(truth.players, truth.values, strict=True) if value}
    best, chosen = (math.fsum(scores[player] for player in five[:TOP]) / TOP for five in (truth.players, found))
    return 100 * math.expm1(best - chosen if truth.side is Side.MODEL else chosen - best)
