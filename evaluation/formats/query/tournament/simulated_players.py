"""Simulated worlds to test schedules in: 100 models and 100 attacks, whose distances are drawn.

The logarithm of a distance is `log 3 + model + sample - attack + model x sample + attack x sample + model x attack +
rest`, all of them normal, at most the distance to uniform grey (around 18). A triple fails with a probability that
depends on attack and model, and then has that bound. The worlds are plausible, not fitted to a competition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.ordering import ranked
from evaluation.formats.query.tournament.schedule_input import TOP
from evaluation.formats.query.tournament.schedule_output import OrderedBy

PLAYERS = 100
EVERYBODY = tuple(range(PLAYERS))

_FAMILIES = 4
_PRIOR_SAMPLES = 50
_STEPS_ROUND = np.array([-1, 1, 0], dtype=np.float32)
"""The effect of a cycle for an attack on models of its own type, of the next one, and of the one after it."""


@dataclass(frozen=True)
class Regime:
    """A type of field: standard deviations of the effects, and mean and deviation of the logit of a failure.

    `pair` is the interaction of model and attack; that of the bundled players is between .2 and .3
    (docs/statistics.md). `surrogate`: how much closer, as a logarithm, an attack is on models of its surrogate's
    family; each model and each surrogate belongs to one of four families. `clones`: the share of each side that are
    near-copies of five baselines. `dead`: the share of attacks that never succeed and of models without robustness.
    `split`: the share of models that are robust on about half of the samples. `cycle`: by how much, as a logarithm, an
    attack of type k of three is closer on models of its type and farther on those of type k + 1. `ahead` and
    `specialist`: the best model is ahead of the others, and one attack of middle strength is closer on it alone.
    `late`: the strongest five of each side are the last of the prior. `clean_errors`: the share of samples, the same
    difficult ones more often, that a model labels wrongly before any attack, at the distance 0.
    """

    model: float = 0.45
    attack: float = 0.50
    sample: float = 0.6
    model_sample: float = 0.35
    attack_sample: float = 0.15
    pair: float = 0.3
    rest: float = 0.35
    failure: float = -2.5
    failure_spread: float = 1.0
    surrogate: float = 0.0
    clones: float = 0.0
    dead: float = 0.0
    split: float = 0.0
    cycle: float = 0.0
    ahead: float = 0.0
    specialist: float = 0.0
    late: bool = False
    clean_errors: float = 0.0


_CYCLES = Regime(model=0.2, attack=0.25, pair=0.15, cycle=0.7)

REGIMES = {
    "base": Regime(),
    "tight": Regime(model=0.18, attack=0.20),
    "noisy": Regime(sample=0.8, model_sample=0.60, attack_sample=0.40, rest=0.80, failure=-1.0),
    "interact": Regime(pair=0.80),
    "families": Regime(surrogate=1.0),
    "crowded": Regime(clones=0.5),
    "broken": Regime(dead=0.2),
    "bimodal": Regime(split=0.25),
    "cycles": _CYCLES,
    "mild-cycles": replace(_CYCLES, cycle=0.35),
    "specialist": Regime(ahead=0.35, specialist=math.log(20)),
    "latecomers": Regime(late=True),
    "inaccurate": Regime(clean_errors=0.4),
}

_Floats = NDArray[np.float32]


class World:
    """The hidden strengths of one tournament's players; `draw` makes distances on fresh samples."""

    def __init__(self, seed: int | np.random.SeedSequence, regime: Regime) -> None:
        self._regime = regime
        self._random = np.random.default_rng(seed)
        self.model = self._hidden(regime.model, PLAYERS)
        self.attack = self._hidden(regime.attack, PLAYERS)
        self._pair = self._hidden(regime.pair, PLAYERS, PLAYERS)
        self._failure = self._hidden(regime.failure_spread, PLAYERS) + regime.failure
        if regime.surrogate:
            models, surrogates = self._random.integers(0, _FAMILIES, (2, PLAYERS))
            self._pair[models[:, None] == surrogates] -= regime.surrogate
        if regime.cycle:
            models, attacks = self._random.integers(0, len(_STEPS_ROUND), (2, PLAYERS))
            self._pair += np.float32(regime.cycle) * _STEPS_ROUND[(models[:, None] - attacks) % len(_STEPS_ROUND)]
        if regime.specialist:
            best, middle = int(np.argmax(self.model)), int(np.argsort(self.attack)[PLAYERS // 2])
            self.model[best] += regime.ahead
            self._pair[best, middle] -= regime.specialist
        if regime.clones:
            self._clone(self.model, regime.model)
            self._clone(self.attack, regime.attack)
        if regime.dead:
            self._failure[self._random.random(PLAYERS) < regime.dead] = 50
            self.model[self._random.random(PLAYERS) < regime.dead] -= 3
        self._split = self._random.random(PLAYERS) < regime.split
        self._robust_share = self._random.uniform(0.4, 0.65, PLAYERS)

    def draw(self, models: Sequence[int], attacks: Sequence[int], samples: int) -> NDArray[np.float64]:
        """Return distances, (models, attacks, samples)."""
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
        np.minimum(logs, bound, out=logs)
        np.copyto(logs, bound, where=failed)
        distances = np.exp(logs, out=logs).astype(np.float64)
        if regime.clean_errors:
            difficulty = self._noise(0.8, samples) + self._noise(0.6, len(at), samples)
            distances[
                np.broadcast_to((difficulty < NormalDist().inv_cdf(regime.clean_errors))[:, None], logs.shape)
            ] = 0
        return distances

    def prior(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the order by continuous evaluation: 50 other samples, an old top five drawn from the best twenty."""
        attacks = self._random.choice(np.argsort(-self.attack)[:20], TOP, replace=False).tolist()
        models = self._random.choice(np.argsort(-self.model)[:20], TOP, replace=False).tolist()
        before_attacks = self.draw(EVERYBODY, attacks, _PRIOR_SAMPLES)
        before_models = self.draw(models, EVERYBODY, _PRIOR_SAMPLES).transpose(1, 0, 2)
        return (
            self._late(ranked(Side.MODEL, EVERYBODY, before_attacks, OrderedBy.MEDIAN).players, self.model),
            self._late(ranked(Side.ATTACK, EVERYBODY, before_models, OrderedBy.MEDIAN).players, self.attack),
        )

    def _late(self, order: tuple[int, ...], strengths: _Floats) -> tuple[int, ...]:
        if not self._regime.late:
            return order
        late = set(np.argsort(-strengths)[:TOP].tolist())
        return tuple(sorted(order, key=late.__contains__))

    def _hidden(self, deviation: float, *shape: int) -> _Floats:
        return (deviation * self._random.standard_normal(shape)).astype(np.float32)

    def _noise(self, deviation: float, *shape: int) -> _Floats:
        return np.float32(deviation) * self._random.standard_normal(shape, dtype=np.float32)

    def _clone(self, strengths: _Floats, deviation: float) -> None:
        who = self._random.permutation(PLAYERS)[: int(self._regime.clones * PLAYERS)]
        baselines = np.linspace(0.4, 1.6, TOP)[self._random.integers(0, TOP, len(who))]
        strengths[who] = deviation * baselines + 0.02 * self._random.standard_normal(len(who))


def tournament_world(regime: str, seed: int, number: int) -> World:
    """Return the world of tournament `number`; each seed, regime and number has a random stream of its own.

    Raise `KeyError` for a regime that does not exist.
    """
    strengths = REGIMES[regime]
    key = (list(REGIMES).index(regime), number)
    return World(np.random.SeedSequence(seed, spawn_key=key), strengths)
