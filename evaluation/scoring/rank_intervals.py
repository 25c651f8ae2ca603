"""Rank intervals of the players of a leaderboard, from one paired bootstrap.

The scores of two players rest on the same samples and are strongly correlated, so intervals of single scores say little
about their difference. Here all players share the same resamples. A pair is separated where its difference exceeds the
value that the largest of all studentised differences reaches in 95 % of the resamples (the max-T method of Westfall and
Young, 1993). So at most one leaderboard of equals in twenty shows any order.

Where a player is the best of several, its score is too good by selection: whatever it is better than must then be so at
the level of Sidak (1967), as if each of the several had been compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side
from evaluation.scoring.bootstrap_constants import CONFIDENCE
from evaluation.scoring.distances import Distances

_BLOCK_VALUES = 1 << 22
"""Numbers in one block of differences, which bounds the memory."""

_ROUNDING = 1e-9


@dataclass(frozen=True)
class RankInterval:
    """The ranks from `low` to `high` (1 is the best), which fit the data of a player."""

    low: int
    high: int


@dataclass(frozen=True)
class Ranks:
    """The rank interval of each player, and the separated pairs."""

    intervals: Mapping[str, RankInterval]
    _better: frozenset[tuple[str, str]]

    def separated(self, better: str, worse: str) -> bool:
        """Return True if `better` is significantly better than `worse`."""
        return (better, worse) in self._better


def rank_intervals(
    values: Mapping[str, float],
    resampled: Mapping[str, Distances],
    side: Side,
    *,
    freedom: int | None = None,
    best_of: Mapping[str, int] | None = None,
) -> Ranks:
    """Return the 95 % simultaneous rank intervals of the players of one leaderboard.

    `values` are their scores, `resampled` the same scores in the resamples of the samples (all of one length and over
    the same samples). The interval of a player goes from 1 + the number of significantly better players to the number
    of players minus the significantly worse ones. The largest score is the best of models, the smallest that of
    attacks. With `freedom`, the degrees of freedom of the resamples' deviations, the value that a difference must
    exceed is that of Student's t for the same probability: means of few samples need it, medians do not. `best_of` has
    the number of submissions that a player may have been selected from, 1 for those that are missing. Raise
    `ValueError` where a player has no resamples.
    """
    names = list(values)
    if missing := [name for name in names if name not in resampled]:
        raise ValueError(f"no resamples of {', '.join(missing)}")
    if not names:
        return Ranks({}, frozenset())
    sign = 1.0 if side is Side.MODEL else -1.0
    scores = sign * np.array([values[name] for name in names])
    draws = sign * np.array([resampled[name] for name in names])
    better = _separated(scores, draws, freedom, [(best_of or {}).get(name, 1) for name in names])
    intervals = {
        name: RankInterval(1 + int(better[:, row].sum()), len(names) - int(better[row].sum()))
        for row, name in enumerate(names)
    }
    pairs = frozenset((names[row], names[column]) for row, column in zip(*np.nonzero(better), strict=True))
    return Ranks(intervals, pairs)


def sidak(normal: float, count: int) -> float:
    """Return the quantile above 0 that the largest of `count` numbers exceeds as often as one does the given quantile.

    The numbers are absolute values of standard normal ones and independent; dependent ones exceed it less often (Sidak
    1967). Raise `ValueError` for a count below one.
    """
    if count < 1:
        raise ValueError(f"the best of {count}")
    level = math.erfc(normal / math.sqrt(2))
    if count == 1 or not 0 < level < 1:
        return normal
    return -NormalDist().inv_cdf(-math.expm1(math.log1p(-level) / count) / 2)


def student(normal: float, freedom: int) -> float:
    """Return the quantile of Student's t that a standard normal quantile above 0 becomes (Fisher and Cornish 1960)."""
    terms: tuple[float, ...] = (
        normal,
        (normal**3 + normal) / 4,
        (5 * normal**5 + 16 * normal**3 + 3 * normal) / 96,
        (3 * normal**7 + 19 * normal**5 + 17 * normal**3 - 15 * normal) / 384,
    )
    return sum((term / float(freedom**power) for power, term in enumerate(terms)), 0.0)


def _separated(scores: Distances, draws: Distances, freedom: int | None, best_of: Sequence[int]) -> NDArray[np.bool_]:
    """Return (players, players): True where the row's player is significantly better than the column's player.

    The critical value follows from the number that the better one was selected from: selection of the worse one makes
    no claim easier. `draws` is (players, resamples). A pair whose difference is the same in every resample is separated
    unless it is 0.
    """
    count = len(scores)
    first, second = np.triu_indices(count, 1)
    difference = scores[first] - scores[second]
    largest = np.zeros(draws.shape[1])
    deviation = np.empty(len(first))
    for block in _blocks(len(first), draws.shape[1]):
        moved = draws[first[block]] - draws[second[block]]
        varies = moved.max(axis=1) != moved.min(axis=1)
        deviation[block] = np.where(varies, moved.std(axis=1), 0.0)
        moved -= difference[block, np.newaxis]
        studentised = np.abs(moved[varies]) / deviation[block][varies, np.newaxis]
        if studentised.size:
            np.maximum(largest, studentised.max(axis=0), out=largest)
    # the smallest value that at least 95 % of the resamples do not exceed
    critical = float(np.sort(largest)[int(np.ceil(CONFIDENCE * largest.size)) - 1])
    needed = {number: sidak(critical, number) for number in set(best_of)}
    if freedom is not None:
        needed = {number: student(normal, freedom) for number, normal in needed.items()}
    of_player = np.array([needed[number] for number in best_of])
    better = np.zeros((count, count), np.bool_)
    for one, other, gap in ((first, second, difference), (second, first, -difference)):
        # require a clear excess: the last bits of a deviation differ between machines
        clear = np.where(deviation > 0, gap > of_player[one] * deviation * (1 + _ROUNDING), gap != 0)
        better[one, other] = clear & (gap > 0)
    return better


def _blocks(pairs: int, resamples: int) -> Iterator[slice]:
    step = max(1, _BLOCK_VALUES // resamples)
    for start in range(0, pairs, step):
        yield slice(start, min(start + step, pairs))
