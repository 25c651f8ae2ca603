"""Curves of a match: success against distance and against queries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample
from evaluation.formats.query.results import Trace
from evaluation.formats.query.scoring.match_curves import (
    answered,
    budgets,
    by_query,
    closest,
    query_counts,
    success_distance,
    successes,
)

IMAGE = np.zeros((1, 1, 1), np.uint8)
SAMPLES = (Sample(0, IMAGE, 3, 5), Sample(1, IMAGE, 3, 5))
Query = tuple[int, int, int, int, float]


def trace(*queries: Query) -> Trace:
    """Return a trace of rows (sample, charged, query, label, distance)."""
    columns = list(zip(*queries, strict=True))
    types = (np.uint16, np.uint16, np.uint32, np.int16, np.float32)
    return Trace(*(np.array(column, kind) for column, kind in zip(columns, types, strict=True)))


@pytest.mark.parametrize("shape", [(64, 64, 3), (28, 28, 1), (299, 299, 3), (8, 8, 1)])
def test_distances_end_at_the_largest_worst_case(shape: tuple[int, int, int]) -> None:
    distances = budgets(ImageShape(*shape))
    largest = 128 / 255 * math.sqrt(math.prod(shape))
    assert len(distances) == 21
    assert list(distances) == sorted(distances)
    assert distances[-2] < largest <= distances[-1]


def test_distances_are_round_numbers() -> None:
    assert budgets(ImageShape(64, 64, 3))[:7] == (0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3)


@pytest.mark.parametrize(
    ("budget", "counts"),
    [(1, (1,)), (10, (1, 2, 3, 5, 7, 10)), (300, (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300))],
)
def test_query_counts_end_at_the_budget(budget: int, counts: tuple[int, ...]) -> None:
    assert query_counts(budget) == counts


def test_a_success_is_an_adversarial_within_the_distance_or_a_wrong_clean_image() -> None:
    outcomes = ["clean_wrong", "adversarial", "failed"]
    assert successes(outcomes, [0.0, 2.0, 1.0], (0.1, 1.0, 2.0, 50.0)) == (1, 1, 2, 2)


def test_the_closest_adversarial_falls_with_the_queries() -> None:
    played = trace((0, 0, 1, 3, 4.0), (0, 0, 2, 7, 6.0), (0, 0, 3, 7, 8.0), (0, 0, 4, 7, 2.0), (1, 1, 1, 3, 1.0))
    found = answered(played, SAMPLES, {0: 9.0, 1: 9.0}, targeted=False)
    assert closest(found, ["adversarial", "failed"], (1, 2, 3, 4, 10)).tolist() == [[9, 6, 6, 2, 2], [9, 9, 9, 9, 9]]


def test_a_targeted_attack_needs_the_target() -> None:
    played = trace((0, 0, 1, 7, 4.0), (0, 0, 2, 5, 6.0))
    found = answered(played, SAMPLES, {0: 9.0}, targeted=True)
    assert closest(found, ["adversarial"], (1, 2)).tolist() == [[9, 6]]


@pytest.mark.parametrize("targeted", [False, True])
def test_no_valid_label_is_a_success_and_a_withheld_answer_is_none(targeted: bool) -> None:
    played = trace((0, 0, 1, -2, 4.0), (0, 0, 2, -1, 6.0))
    found = answered(played, SAMPLES, {0: 9.0}, targeted=targeted)
    assert closest(found, ["adversarial"], (1, 2)).tolist() == [[9, 6]]


def test_an_image_that_another_sample_paid_for_counts_where_its_own_sample_stood() -> None:
    played = trace((0, 0, 1, 3, 1.0), (0, 1, 1, 7, 2.0), (0, 0, 2, 7, 3.0))
    found = answered(played, SAMPLES, {0: 9.0}, targeted=False)
    assert closest(found, ["adversarial"], (1, 2)).tolist() == [[2, 2]]


def test_nothing_is_closer_than_the_worst_case_for_a_sample_without_queries() -> None:
    found = answered(trace((0, 0, 1, 7, 12.0)), SAMPLES, {0: 9.0, 1: 8.0}, targeted=False)
    assert closest(found, ["failed", "failed"], (1,)).tolist() == [[9], [8]]


def test_a_wrong_clean_image_counts_from_distance_0() -> None:
    found = answered(trace((0, 0, 1, 7, 2.0), (1, 1, 1, 7, 2.0)), SAMPLES, {0: 9.0, 1: 9.0}, targeted=False)
    assert closest(found, ["clean_wrong", "adversarial"], (1, 2)).tolist() == [[0, 0], [2, 2]]


@pytest.mark.parametrize("distance", [5.0, 9.0, 50.0])
def test_a_sample_without_an_adversarial_is_no_success_within_any_distance(distance: float) -> None:
    """The curve over queries ends where the curve over distances is: the worst case is no adversarial."""
    played = trace((0, 0, 1, 3, 4.0), (0, 0, 2, 7, 12.0), (0, 0, 3, 7, 2.0), (1, 1, 1, 3, 1.0))
    outcomes = ["adversarial", "failed", "clean_wrong"]
    samples = (*SAMPLES, Sample(2, IMAGE, 3, 5))
    found = answered(played, samples, {0: 9.0, 1: 8.0, 2: 8.5}, targeted=False)
    after = by_query(found, outcomes, (1, 2, 3)).within(distance)
    assert after == [1, 2 if distance >= 9.0 else 1, 2]
    assert (after[-1],) == successes(outcomes, [2.0, 8.0, 0.0], (distance,))
    assert math.isinf(success_distance("failed", 8.0))
