"""False claims on boards of ten finalists: how often the rank intervals say more than is true.

    python -m bench.rank_claims [--boards 500] [--seed 7]

Each board has ten players of one track, five opponents and 200 samples, drawn in the worlds of `gauntlet simulate`. On
boards of equals every separation is false. On boards of tight players the truth is measured on many fresh samples, and a
separation is false where it puts a pair the wrong way round.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from statistics import mean, stdev

import numpy as np
from numpy.typing import NDArray

from bench.report import table
from evaluation.domain.players import Side
from evaluation.scoring.ranks import rank_intervals, resampled_medians
from evaluation.scoring.v1 import bootstrap_interval
from evaluation.tournament.worlds import REGIMES, Regime, World

FINALISTS = 10
OPPONENTS = 5
SAMPLES = 200
TRUTH_SAMPLES = 20_000
_CHUNK = 5_000

WORLDS: Mapping[str, Mapping[Side, Regime]] = {
    "equal": {
        Side.MODEL: Regime(model=0, pair=0),
        Side.ATTACK: Regime(attack=0, pair=0, failure_spread=0),
    },
    "tight": {side: REGIMES["tight"] for side in Side},
}


@dataclass(frozen=True)
class Claims:
    """What one board claims: shares of pairs told apart, and 1 or 0 for what holds of the board as a whole."""

    false_by_ranks: float
    false_by_overlap: float
    apart_by_ranks: float
    apart_by_overlap: float
    all_ranks_inside: float
    width: float


def claims(world: str, side: Side, seed: int, number: int) -> Claims:
    """Of board `number`; equal arguments make equal claims."""
    key = (tuple(WORLDS).index(world), tuple(Side).index(side), number)
    hidden = World(np.random.SeedSequence(seed, spawn_key=key), WORLDS[world][side])
    best = {Side.MODEL: np.argsort(-hidden.model).tolist(), Side.ATTACK: np.argsort(-hidden.attack).tolist()}
    models, attacks = ((best[one][: FINALISTS if one is side else OPPONENTS]) for one in (Side.MODEL, Side.ATTACK))
    played = _rows(side, hidden.draw(models, attacks, SAMPLES))
    truth = None
    if world != "equal":
        chunks = [_rows(side, hidden.draw(models, attacks, _CHUNK)) for _ in range(TRUTH_SAMPLES // _CHUNK)]
        truth = [float(np.median(np.concatenate(rows, axis=1))) for rows in zip(*chunks, strict=True)]
    return _judged(side, played, truth)


def _rows(side: Side, distances: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Of each finalist what its score is the median of: (rows, samples)."""
    if side is Side.MODEL:
        return [model.min(axis=0, keepdims=True) for model in distances]
    return list(distances.transpose(1, 0, 2))


def _judged(side: Side, played: Sequence[NDArray[np.float64]], truth: Sequence[float] | None) -> Claims:
    """`truth` are the true scores, None where all are equal."""
    names = [str(number) for number in range(len(played))]
    values = {name: float(np.median(rows)) for name, rows in zip(names, played, strict=True)}
    resampled = {name: resampled_medians(rows) for name, rows in zip(names, played, strict=True)}
    ranks = rank_intervals(values, resampled, side)
    scores = dict(zip(names, bootstrap_intervals(played), strict=True))
    sign = -1 if side is Side.MODEL else 1
    by_ranks, by_overlap = [], []
    for better, worse in combinations(sorted(names, key=lambda name: sign * values[name]), 2):
        right = truth is not None and sign * truth[int(better)] < sign * truth[int(worse)]
        (low, high), (other_low, other_high) = scores[better], scores[worse]
        by_ranks.append((ranks.separated(better, worse), right))
        by_overlap.append((high < other_low or other_high < low, right))
    intervals = [ranks.intervals[name] for name in names]
    return Claims(
        false_by_ranks=_false(by_ranks),
        false_by_overlap=_false(by_overlap),
        apart_by_ranks=mean(apart for apart, _ in by_ranks),
        apart_by_overlap=mean(apart for apart, _ in by_overlap),
        all_ranks_inside=float(all(one.low <= rank <= one.high for one, ranks_ in zip(intervals, true_ranks(side, truth, len(names)), strict=True) for rank in ranks_)),
        width=mean(one.high - one.low + 1 for one in intervals),
    )
