from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.formats.query.results import Outcome
from evaluation.formats.query.scoring.scored_distances import scored_distance

positive = st.floats(0, 100)


@pytest.mark.parametrize(
    ("outcome", "distance", "expected"),
    [
        (Outcome.ADVERSARIAL, 1.5, 1.5),
        (Outcome.ADVERSARIAL, 40.0, 30.0),
        (Outcome.ADVERSARIAL, 0.0, 0.0),
        (Outcome.FAILED, 1.5, 30.0),
        (Outcome.FAILED, math.inf, 30.0),
        (Outcome.CLEAN_WRONG, 1.5, 0.0),
    ],
)
def test_the_distance_that_counts(outcome: Outcome, distance: float, expected: float) -> None:
    assert scored_distance(outcome, distance, worst_case=30.0) == expected


@settings(deadline=None)
@given(found=positive, lost=positive, worst=positive)
def test_a_failure_is_never_better_than_a_success(found: float, lost: float, worst: float) -> None:
    failed = scored_distance(Outcome.FAILED, lost, worst)
    adversarial = scored_distance(Outcome.ADVERSARIAL, found, worst)
    assert 0 == scored_distance(Outcome.CLEAN_WRONG, found, worst) <= adversarial <= failed
