from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from evaluation.formats.query.scoring.scores_v1 import (
    Score,
    _quantile,
    _resamples,
    attack_score,
    interval,
    model_score,
    resampled_medians,
)
from evaluation.scoring.bootstrap_constants import CONFIDENCE, RESAMPLES
from evaluation.scoring.distances import Distances

BOTH = pytest.mark.parametrize("score", [model_score, attack_score])
distances = st_numpy.arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 12)), elements=st.floats(0, 60, width=32)
)
relaxed = settings(deadline=None, max_examples=40)


def test_the_model_score_is_the_median_of_the_smallest_distances() -> None:
    made = model_score(
        np.array(
            [
                [1.0, 4.0, 2.0, 8.0],  # attack 0: 1 2 4 8, median (2 + 4) / 2 = 3
                [3.0, 1.0, 5.0, 6.0],  # attack 1: 1 3 5 6, median (3 + 5) / 2 = 4
            ]
        )
    )
    # eq. 2, minimum over the attacks: 1 1 2 6; eq. 3, their median: (1 + 2) / 2
    assert made.value == 1.5
    assert made.per_opponent == (3.0, 4.0)
    # the smaller median is the worse opponent of a model
    assert made.worst_opponent == 0
    assert made.samples == 4
    assert (made.failures, made.median_seconds, made.mean_queries) == (0, None, None)


def test_the_attack_score_is_the_median_over_all_samples_and_models() -> None:
    made = attack_score(
        np.array(
            [
                [1.0, 4.0, 2.0],  # model 0: median 2
                [3.0, 0.0, 9.0],  # model 1: median 3
            ]
        ),
        failed=np.array([[False, False, False], [False, False, True]]),
        seconds=np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]),
        queries=np.array([[1000, 1000, 1000], [1000, 0, 500]]),
    )
    # eq. 4 and 5, all six together: 0 1 2 3 4 9, median (2 + 3) / 2
    assert made.value == 2.5
    assert made.per_opponent == (2.0, 3.0)
    # the larger median is the worse opponent of an attack
    assert made.worst_opponent == 1
    assert made.failures == 1
    # 1 2 3 4 5 7: (3 + 4) / 2
    assert made.median_seconds == 3.5
    # 4500 / 6
    assert made.mean_queries == 750


def test_the_attack_score_is_no_median_of_medians() -> None:
    # rows' medians 0, 0, 9 give 0; all nine sorted: 0 0 0 0 5 5 9 9 9, the fifth is 5
    rows = np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 5.0], [9.0, 9.0, 9.0]])
    assert attack_score(rows).value == 5.0


def test_equal_opponents_name_the_first() -> None:
    rows = np.array([[2.0, 2.0], [2.0, 2.0]])
    assert model_score(rows).worst_opponent == 0
    assert attack_score(rows).worst_opponent == 0


def test_the_interval_of_two_samples() -> None:
    # with replacement, medians are 0 (1 in 4), 1/2 (2 in 4), 1 (1 in 4): the outer 2.5 % lie within the outer quarters
    assert interval(resampled_medians(np.array([[0.0, 1.0]]), seed=0)) == (0.0, 1.0)


def test_the_interval_of_one_sample_is_a_point() -> None:
    made = attack_score(np.array([[1.0], [3.0]]))
    assert (made.low, made.value, made.high) == (2.0, 2.0, 2.0)


def test_the_interval_keeps_the_rows_of_a_sample_together() -> None:
    # five equal rows say no more than one: pretending they were five times the samples would narrow the interval
    row = np.random.default_rng(1).random((1, 40))
    assert interval(resampled_medians(np.repeat(row, 5, axis=0), seed=3)) == interval(resampled_medians(row, seed=3))


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(11)
    truth = np.exp(0.0)  # the median of a log-normal distribution
    intervals = [interval(resampled_medians(random.lognormal(size=(1, 51)), seed)) for seed in range(200)]
    covered = sum(low <= truth <= high for low, high in intervals)
    assert 180 <= covered <= 198


def test_the_interval_does_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(5).random((3, 20))
    whole = resampled_medians(rows, seed=2)
    monkeypatch.setattr("evaluation.formats.query.scoring.scores_v1._BLOCK_VALUES", 60 * 7)
    _resamples.cache_clear()
    assert (resampled_medians(rows, seed=2) == whole).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (3, 20), (10, 33)])
def test_the_interval_without_a_table_is_the_same(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]) -> None:
    random = np.random.default_rng(8)
    for rows in (random.random(shape), random.integers(0, 4, shape).astype(float)):
        with_table = resampled_medians(rows, seed=2)
        with monkeypatch.context() as patched:
            patched.setattr("evaluation.formats.query.scoring.scores_v1._MOST_COUNTS", 0)
            assert (resampled_medians(rows, seed=2) == with_table).all()


def test_many_samples_take_no_memory_of_their_square() -> None:
    rows = np.random.default_rng(8).random((1, 6000))
    tracemalloc.start()
    resampled_medians(rows, seed=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # a number for each pair of samples alone would be 144 MB
    assert peak < 140_000_000


@pytest.mark.parametrize("share", [0.0, (1 - CONFIDENCE) / 2, 1 - (1 - CONFIDENCE) / 2, 0.5, 0.3, 1.0])
def test_a_quantile_is_that_of_numpy_to_the_last_bit(share: float) -> None:
    random = np.random.default_rng(12)
    for size in (1, 2, 50, RESAMPLES):
        values = np.sort(random.lognormal(size=size))
        assert _quantile(values, share) == np.quantile(values, share)


def test_it_rejects_more_distances_than_it_counts_exactly() -> None:
    endless = np.broadcast_to(np.float64(1.0), (1 << 12, 1 << 12))
    with pytest.raises(ValueError, match="fewer than 16,777,216"):
        resampled_medians(endless, seed=0)


@BOTH
def test_the_same_seed_gives_the_same_score(score: Callable[..., Score]) -> None:
    rows = np.random.default_rng(6).random((3, 30))
    assert score(rows, seed=4) == score(rows, seed=4)
    assert score(rows, seed=4) != score(rows, seed=5)


@BOTH
@relaxed
@given(rows=distances, data=st.data())
def test_the_order_of_samples_moves_the_interval_alone(score: Callable[..., Score], rows: Distances, data: Any) -> None:
    order = data.draw(st.permutations(range(rows.shape[1])))
    made, other = score(rows), score(rows[:, order])
    assert replace(other, low=made.low, high=made.high) == made


@BOTH
@relaxed
@given(rows=distances, data=st.data())
def test_the_order_of_opponents_does_not_matter(score: Callable[..., Score], rows: Distances, data: Any) -> None:
    order = data.draw(st.permutations(range(rows.shape[0])))
    first, second = score(rows), score(rows[order])
    assert second.value == first.value
    assert second.per_opponent == tuple(first.per_opponent[place] for place in order)


@BOTH
@relaxed
@given(rows=distances)
def test_the_score_lies_within_its_interval(score: Callable[..., Score], rows: Distances) -> None:
    made = score(rows)
    assert made.low <= made.value <= made.high


@relaxed
@given(rows=distances, data=st.data())
def test_another_attack_never_raises_the_score_of_a_model(rows: Distances, data: Any) -> None:
    another = data.draw(st_numpy.arrays(np.float64, (1, rows.shape[1]), elements=st.floats(0, 60, width=32)))
    assert model_score(np.concatenate([rows, another])).value <= model_score(rows).value


@BOTH
@relaxed
@given(rows=distances, data=st.data())
def test_a_failed_attack_is_never_better_than_a_successful_one(
    score: Callable[..., Score], rows: Distances, data: Any
) -> None:
    worst = 60.0  # no distance above exceeds it
    place = tuple(data.draw(st.integers(0, size - 1)) for size in rows.shape)
    failed = rows.copy()
    failed[place] = worst
    assert score(failed).value >= score(rows).value


@BOTH
@relaxed
@given(rows=distances)
def test_twice_the_distances_are_twice_the_score(score: Callable[..., Score], rows: Distances) -> None:
    once, twice = score(rows), score(2 * rows)
    assert twice == replace(
        once,
        value=2 * once.value,
        low=2 * once.low,
        high=2 * once.high,
        per_opponent=tuple(2 * value for value in once.per_opponent),
    )


@BOTH
@pytest.mark.parametrize("rows", [np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(3), np.zeros((1, 1, 1))])
def test_it_rejects_other_shapes(score: Callable[..., Score], rows: Distances) -> None:
    with pytest.raises(ValueError, match="at least one of each"):
        score(rows)


@BOTH
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_it_rejects_what_is_no_distance(score: Callable[..., Score], value: float) -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        score(np.array([[1.0, value]]))


@BOTH
def test_it_rejects_columns_of_another_shape(score: Callable[..., Score]) -> None:
    with pytest.raises(ValueError, match="does not fit distances"):
        score(np.zeros((2, 3)), seconds=np.zeros((2, 2)))
