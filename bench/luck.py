"""`python -m bench.luck`: the gain by luck of the best of many equally strong submissions on a fixed sample set.

The logarithm of a distance is `log 3 + model - attack + sample + model x sample + attack x sample + model x attack +
rest`, all normal, with the deviations of the base world of `gauntlet simulate` but half of its "model x attack", at
most the distance to uniform grey; an attack finds nothing in one of twelve tries. A submission meets five strong
opponents. The change by the team decides what is drawn again for each submission; the rest is fixed. The last table is
the level of the paired test on a team's page.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side
from evaluation.formats.query.scoring.paired_test import paired_difference
from evaluation.formats.query.scoring.selection_effect import expected_largest

OPPONENTS = 5
COUNTS = (5, 35, 150, 530)
SAMPLE, MODEL_SAMPLE, ATTACK_SAMPLE, PAIR = 0.6, 0.35, 0.15, 0.15
FAILURE = 1 / 12

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """A change by a team: the side, and the deviations of what it draws again; `own` is its errors on the samples."""

    name: str
    side: Side
    rest: float
    own: float
    redraws_rest: bool = True


CHANGES = (
    Change("model: comment, seed from the content (before)", Side.MODEL, 0.35, 0.0),
    Change("the same, steadier attacks", Side.MODEL, 0.15, 0.0),
    Change("model: comment, seed from the entry (now)", Side.MODEL, 0.35, 0.0, redraws_rest=False),
    Change("model: weights moved, all paths drawn again (now)", Side.MODEL, 0.35, 0.0),
    Change("model: retrained (now)", Side.MODEL, 0.35, MODEL_SAMPLE),
    Change("attack: comment, seed from the content (before)", Side.ATTACK, 0.35, 0.0),
    Change("attack: comment, seed from the entry (now)", Side.ATTACK, 0.35, 0.0, redraws_rest=False),
    Change("attack: another seed of its own (now)", Side.ATTACK, 0.35, 0.0),
    Change("attack: new submission (now)", Side.ATTACK, 0.35, ATTACK_SAMPLE),
)


class World:
    """One sample set and one pool; `draw` returns the distances of equally strong submissions to one track."""

    def __init__(self, seed: int, change: Change, samples: int) -> None:
        self._random = np.random.default_rng(seed)
        self._change, self._samples = change, samples
        strength = self._normal(0.3, OPPONENTS)
        self._base = math.log(3) + strength[:, None] + self._normal(PAIR, OPPONENTS)[:, None]
        self._base = self._base + self._normal(SAMPLE, samples)
        others = ATTACK_SAMPLE if change.side is Side.MODEL else MODEL_SAMPLE
        own = MODEL_SAMPLE if change.side is Side.MODEL else ATTACK_SAMPLE
        self._base += self._normal(others, OPPONENTS, samples)
        self._own = self._normal(own, samples) if not change.own else np.zeros(samples)
        self._rest = self._normal(change.rest, OPPONENTS, samples)
        self._bound = math.log(18) + self._normal(0.25, samples)
        self._failed = self._random.random((OPPONENTS, samples)) < FAILURE

    def draw(self, submissions: int) -> Floats:
        """Return distances, (submissions, opponents, samples)."""
        shape = (submissions, OPPONENTS, self._samples)
        redraws = self._change.redraws_rest
        rest = self._normal(self._change.rest, *shape) if redraws else np.broadcast_to(self._rest, shape)
        failed = self._random.random(shape) < FAILURE if redraws else self._failed
        own = self._normal(self._change.own, submissions, 1, self._samples) + self._own
        logs = np.minimum(self._base + own + rest, self._bound)
        distances: Floats = np.exp(np.where(failed, self._bound, logs))
        return distances

    def _normal(self, deviation: float, *shape: int) -> Floats:
        return deviation * self._random.standard_normal(shape)


def scores(distances: Floats, side: Side) -> Floats:
    """Return eq. 3 or 5 for each of (submissions, opponents, samples)."""
    if side is Side.MODEL:
        distances = distances.min(axis=1, keepdims=True)
    medians: Floats = np.median(distances, axis=(1, 2))
    return medians


def luck(change: Change, samples: int, *, worlds: int, draws: int, seed: int) -> tuple[float, list[float]]:
    """Return the deviation of the log score, and the signed gain of the best of each of `COUNTS`."""
    deviations, gains = [], []
    for number in range(worlds):
        logs = np.log(scores(World(seed + number, change, samples).draw(draws), change.side))
        deviations.append(logs.std())
        sign = 1 if change.side is Side.MODEL else -1
        centred = sign * (logs - logs.mean())
        gains.append([_best_of(centred, count) for count in COUNTS])
    sign = 1 if change.side is Side.MODEL else -1
    means = np.mean(gains, axis=0)
    return float(np.sqrt(np.mean(np.square(deviations)))), [sign * math.expm1(sign * gain) * sign for gain in means]


def _best_of(values: Floats, count: int) -> float:
    """Return the mean of the largest of `count` of the values, drawn without replacement."""
    groups = values[: len(values) // count * count].reshape(-1, count)
    return float(groups.max(axis=1).mean())


def level(side: Side, samples: int, *, pairs: int, seed: int) -> float:
    """Return how often the paired test separates two new submissions of equal strength."""
    change = next(each for each in reversed(CHANGES) if each.side is side)
    found = 0
    for number in range(pairs):
        first, second = World(seed + number, change, samples).draw(2)
        found += paired_difference(first, second, side).separated
    return found / pairs


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.luck", description="Luck on a fixed sample set.")
    parser.add_argument("--worlds", type=int, default=40)
    parser.add_argument("--draws", type=int, default=1060, help="submissions in each world")
    parser.add_argument("--pairs", type=int, default=1000, help="pairs of equals for the level of the paired test")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    drawn = {"worlds": given.worlds, "draws": given.draws, "seed": given.seed}
    print("| 200 samples | sd | " + " | ".join(f"best of {count}" for count in COUNTS) + " |")
    print("|---|---|" + "---|" * len(COUNTS))
    for change in CHANGES:
        deviation, gains = luck(change, 200, **drawn)
        print(f"| {change.name} | {deviation:.1%} | " + " | ".join(f"{gain:+.1%}" for gain in gains) + " |")
    print("\n| samples | sd of a new model | x sqrt(samples / 200) | sd of a new attack | x sqrt |")
    print("|---|---|---|---|---|")
    new_submissions = [
        next(each for each in reversed(CHANGES) if each.side is side) for side in (Side.MODEL, Side.ATTACK)
    ]
    for samples in (20, 50, 200, 500):
        found = [luck(change, samples, **drawn)[0] for change in new_submissions]
        cells = [f"{each:.1%} | {each * math.sqrt(samples / 200):.1%}" for each in found]
        print(f"| {samples} | {' | '.join(cells)} |")
    print("\n| paired test, equals separated | 50 samples | 200 samples |")
    print("|---|---|---|")
    for side in Side:
        found = [level(side, samples, pairs=given.pairs, seed=given.seed) for samples in (50, 200)]
        print(f"| {side}s | " + " | ".join(f"{each:.3f}" for each in found) + " |")
    print("\nExpected largest of n normal numbers: " + ", ".join(f"{n}: {expected_largest(n):.2f}" for n in COUNTS))


if __name__ == "__main__":
    main()
