"""The order of one side, best first, by mean rank or by the paper's median, exact where players are equal.

A distance is NaN where it does not count (an attack against a model of its own team). Such distances are left out, both
of the player's own value and of the ranks of the others. A player without any distance has no value and comes last.

Ties are broken by the mean distance (models: larger is better; attacks: smaller is better), then by the order of entry:
the earlier player is better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import Side
from evaluation.formats.query.tournament.schedule_output import OrderedBy

Seen: TypeAlias = NDArray[np.float64]
"""(players, opponents, samples): distances of one side, NaN where they do not count for it."""

_Key: TypeAlias = Fraction | float | None


@dataclass(frozen=True)
class RankedSide:
    """A side in order: `players` (positions) best first, and for each of them its value and its row of `seen`."""

    side: Side
    players: tuple[int, ...]
    values: tuple[float | None, ...]
    seen: Seen

    def per_sample(self) -> NDArray[np.float64]:
        """Return (players, samples): a model's smallest distance, an attack's median over its opponents."""
        if self.side is Side.MODEL:
            return _observations(Side.MODEL, self.seen)
        return median_of_present(self.seen.transpose(0, 2, 1))


def ranked(side: Side, players: Sequence[int], seen: Seen, by: OrderedBy) -> RankedSide:
    """Return the order of `players` (positions in order of entry), whose distances are the rows of `seen`.

    The values are mean ranks (from 1, ties share their places) or medians. A model is measured on each sample by its
    smallest distance (Brendel et al. 2020, eq. 2 and 3), an attack on all samples and opponents together (eq. 4 and 5).
    """
    observed = _observations(side, seen)
    better = -1 if side is Side.MODEL else 1
    keys: list[_Key]
    if by is OrderedBy.MEAN_RANK:
        keys, sign = list(_mean_ranks(better * observed)), 1
    else:
        keys, sign = [None if np.isnan(value) else float(value) for value in median_of_present(observed)], better
    shared = Counter(keys)

    def place(row: int) -> tuple[bool, Fraction | float, float, int]:
        key = keys[row]
        if key is None:
            return True, 0, 0.0, players[row]
        settled = better * _mean(observed[row]) if shared[key] > 1 else 0.0
        return False, sign * key, settled, players[row]

    rows = sorted(range(len(players)), key=place)
    values = tuple(None if (key := keys[row]) is None else float(key) for row in rows)
    return RankedSide(side, tuple(players[row] for row in rows), values, seen[rows])


def median_of_present(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median over the last axis, ignoring NaN; NaN where nothing is left."""
    ordered = np.sort(values, axis=-1)
    present = np.count_nonzero(~np.isnan(values), axis=-1, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(present - 1, 0) // 2, axis=-1)
    high = np.take_along_axis(ordered, present // 2, axis=-1)
    middle: NDArray[np.float64] = ((low + high) / 2)[..., 0]
    return middle


def _observations(side: Side, seen: Seen) -> NDArray[np.float64]:
    """Return (players, observations)."""
    if side is Side.ATTACK:
        return seen.reshape(len(seen), -1)
    nearest: NDArray[np.float64] = np.fmin.reduce(seen, axis=1)
    return nearest


def _mean_ranks(values: NDArray[np.float64]) -> list[Fraction | None]:
    """Return each row's mean rank within the columns, the smallest value first; exact, so equal means are equal."""
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    place = np.arange(len(values))[:, None]
    edge = np.ones((1, values.shape[1]), dtype=bool)
    changes = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(np.vstack((edge, changes)), place, 0), axis=0)
    backwards = np.where(np.vstack((changes, edge)), place, len(values))[::-1]
    last = np.minimum.accumulate(backwards, axis=0)[::-1]
    twice = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(twice, order, first + last + 2, axis=0)
    present = ~np.isnan(values)
    sums = np.where(present, twice, 0).sum(axis=1)
    counts = present.sum(axis=1)
    pairs = zip(sums.tolist(), counts.tolist(), strict=True)
    return [Fraction(total, 2 * count) if count else None for total, count in pairs]


def _mean(row: NDArray[np.float64]) -> float:
    """Return the mean, ignoring NaN; the sum is rounded once, so the order of opponents cannot change it."""
    present = row[~np.isnan(row)]
    return fsum(present) / len(present)
