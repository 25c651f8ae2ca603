"""Scores under version 1 of the rules: the medians of Brendel et al. 2020, eq. 2 to 5, with bootstrap intervals.

All arrays are (opponents, samples): row k holds the values against opponent k, in the order of the sample numbers.
Distances are scored distances (`scored_distance`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evaluation.scoring.bootstrap_constants import CONFIDENCE, RESAMPLES
from evaluation.scoring.distances import Distances

_STRIDE = 32
"""Step of the coarse search for a median, in values."""

_BLOCK_VALUES = 1 << 22
"""Numbers in one block of resamples, which bounds the memory."""

_MOST_COUNTS = 1 << 25
"""Largest table of counts; above it each resample is computed separately, with the same result."""

_MOST_VALUES = 1 << 24
"""Number of distances that an interval must stay below."""


@dataclass(frozen=True)
class Score:
    """One score with the other columns of its leaderboard row.

    `low` and `high` bound the 95 % bootstrap interval over samples. `failures` counts the pairs of opponent and sample
    without an adversarial. `worst_opponent` is the index of the opponent against which the player scores worst;
    `per_opponent` are the medians against each opponent. `median_seconds` and `mean_queries` are per sample.
    `resampled`, (RESAMPLES,), is the score in each bootstrap resample, for comparing players
    (`evaluation.scoring.rank_intervals`).
    """

    value: float
    low: float
    high: float
    samples: int
    failures: int
    worst_opponent: int
    per_opponent: tuple[float, ...]
    median_seconds: float | None = None
    mean_queries: float | None = None
    resampled: Distances = field(default_factory=lambda: np.empty(0), compare=False, repr=False)


def model_score(
    distances: Distances,
    *,
    failed: NDArray[np.bool_] | None = None,
    seconds: NDArray[np.float64] | None = None,
    queries: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> Score:
    """Return the median over samples of the minimum over the attacks (eq. 2 and 3); larger is better.

    The worst opponent is the attack with the smallest median, the first of equals.
    """
    _check(distances, failed, seconds, queries)
    nearest = distances.min(axis=0, keepdims=True)
    worst = int(np.argmin(np.median(distances, axis=1)))
    return _score(nearest, distances, worst, (failed, seconds, queries), seed)


def attack_score(
    distances: Distances,
    *,
    failed: NDArray[np.bool_] | None = None,
    seconds: NDArray[np.float64] | None = None,
    queries: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> Score:
    """Return the median over all samples and models together (eq. 4 and 5); smaller is better.

    The worst opponent is the model with the largest median, the first of equals.
    """
    _check(distances, failed, seconds, queries)
    worst = int(np.argmax(np.median(distances, axis=1)))
    return _score(distances, distances, worst, (failed, seconds, queries), seed)


def _score(
    scored: Distances,
    distances: Distances,
    worst: int,
    columns: tuple[NDArray[np.bool_] | None, NDArray[np.float64] | None, NDArray[np.int64] | None],
    seed: int,
) -> Score:
    failed, seconds, queries = columns
    resampled = resampled_medians(scored, seed)
    low, high = interval(resampled)
    return Score(
        value=float(np.median(scored)),
        low=low,
        high=high,
        samples=distances.shape[1],
        failures=0 if failed is None else int(np.count_nonzero(failed)),
        worst_opponent=worst,
        per_opponent=tuple(float(value) for value in np.median(distances, axis=1)),
        median_seconds=None if seconds is None else float(np.median(seconds)),
        mean_queries=None if queries is None else float(np.mean(queries)),
        resampled=resampled,
    )


def interval(resampled: Distances) -> tuple[float, float]:
    """Return the 95 % percentile interval of a score from its values in all resamples."""
    ordered = np.sort(resampled)
    tail = (1 - CONFIDENCE) / 2
    return _quantile(ordered, tail), _quantile(ordered, 1 - tail)


def resampled_medians(distances: Distances, seed: int = 0) -> Distances:
    """Return the median of (rows, samples) in each of `RESAMPLES` resamples; samples are drawn with replacement.

    A sample keeps all its rows: the draw is over samples, as in a fresh sample set, not over single matches. Samples
    are drawn by position, so the k-th resamples of two players hold the same samples, and differences between players
    can be resampled. `RandomState` is used because its stream is frozen: a score can be computed again under any NumPy
    version.

    Raise `ValueError` for 2 ** 24 distances or more.
    """
    if distances.size >= _MOST_VALUES:
        raise ValueError(f"an interval needs fewer than {_MOST_VALUES:,} distances, not {distances.size:,}")
    samples = distances.shape[1]
    values = distances.ravel()
    order = np.argsort(values, kind="stable")
    of_sample, step = order % samples, max(1, _BLOCK_VALUES // distances.size)
    if samples * (values.size + 1) > _MOST_COUNTS:
        blocks = [_medians_one_by_one(values[order], of_sample, times) for times in _drawn(samples, seed, step)]
    else:
        # count the first k values, in order, of each sample: then a resample's median needs no sorting
        before = np.zeros((samples, values.size + 1), np.float32)  # integers, exact below 2 ** 24
        before[of_sample, np.arange(1, values.size + 1)] = 1
        np.cumsum(before, axis=1, out=before)
        times = _resamples(samples, seed)
        blocks = [_medians(values[order], before, times[start : start + step]) for start in range(0, RESAMPLES, step)]
    return np.concatenate(blocks)


@lru_cache(maxsize=2)
def _resamples(samples: int, seed: int) -> NDArray[np.float32]:
    """Return the blocks of `_drawn` together; cached, as they are the same for all players of a leaderboard."""
    drawn = _drawn(samples, seed, max(1, _BLOCK_VALUES // samples))
    times = np.concatenate([block.astype(np.float32) for block in drawn])
    times.setflags(write=False)
    return times


def _drawn(samples: int, seed: int, step: int) -> Iterator[NDArray[np.int64]]:
    """Yield (resamples, samples) in blocks of `step` resamples: how often each resample draws each sample."""
    random = np.random.RandomState(seed)
    for start in range(0, RESAMPLES, step):
        count = min(step, RESAMPLES - start)
        drawn = random.randint(0, samples, size=(count, samples)) + samples * np.arange(count)[:, np.newaxis]
        yield np.bincount(drawn.ravel(), minlength=count * samples).reshape(count, samples)


def _quantile(ordered: Distances, share: float) -> float:
    """Return the value below which `share` of `ordered` lies, interpolated linearly.

    NumPy's own quantile is not used: signed values must be equal to the last bit under any NumPy version.
    """
    position = (ordered.size - 1) * share
    below = int(position)
    part = position - below
    low, high = float(ordered[below]), float(ordered[min(below + 1, ordered.size - 1)])
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


def _medians_one_by_one(values: Distances, of_sample: NDArray[np.int64], times: NDArray[np.int64]) -> Distances:
    """Return the result of `_medians` without a table: `of_sample` is the sample of each of `values`."""
    reached = np.cumsum(times[:, of_sample], axis=1)
    lower = np.count_nonzero(reached <= (values.size - 1) // 2, axis=1)
    upper = np.count_nonzero(reached <= values.size // 2, axis=1)
    medians: Distances = (values[lower] + values[upper]) / 2
    return medians


def _medians(values: Distances, before: NDArray[np.float32], times: NDArray[np.float32]) -> Distances:
    """Return the median of each resample: ordered `values`, drawn `times` (resamples, samples) often."""
    lower, upper = (values.size - 1) // 2, values.size // 2
    # a coarse search over every 32nd column finds where each median lies; only that part is counted exactly
    rough = times @ before[:, ::_STRIDE]
    first = _STRIDE * (int(np.count_nonzero(rough <= lower, axis=1).min()) - 1)
    last = _STRIDE * int(np.count_nonzero(rough <= upper, axis=1).max()) + 1
    reached = times @ before[:, first:last]
    medians: Distances = (
        values[first + np.count_nonzero(reached <= lower, axis=1) - 1]
        + values[first + np.count_nonzero(reached <= upper, axis=1) - 1]
    ) / 2
    return medians


def _check(distances: Distances, *columns: NDArray[np.generic] | None) -> None:
    if distances.ndim != 2 or distances.size == 0:
        raise ValueError(f"distances must be (opponents, samples) with at least one of each, not {distances.shape}")
    if not np.isfinite(distances).all() or (distances < 0).any():
        raise ValueError("distances must be finite and not negative")
    for array in columns:
        if array is not None and array.shape != distances.shape:
            raise ValueError(f"an array of shape {array.shape} does not fit distances of shape {distances.shape}")
