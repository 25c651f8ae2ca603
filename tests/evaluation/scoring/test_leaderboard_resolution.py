"""What a leaderboard can separate."""

from __future__ import annotations

from evaluation.scoring.leaderboard_resolution import FEW_SAMPLES, Resolution, few_samples, resolution


def test_the_closest_separated_pair_is_found() -> None:
    # the third is separated from the first only, the fourth from the first two, the fifth from the fourth
    rows = [(9.0, 1), (8.5, 1), (7.0, 2), (6.0, 3), (5.5, 5)]
    assert resolution(rows) == Resolution(0.5)
    assert resolution(rows[:4]) == Resolution(2.0)


def test_smaller_may_be_better() -> None:
    assert resolution([(1.0, 1), (4.0, 2)]) == Resolution(3.0)


def test_no_pair_is_separated() -> None:
    assert resolution([(9.0, 1), (8.0, 1)]) == Resolution(None)


def test_a_single_row_has_nothing_to_compare() -> None:
    assert resolution([]) is None
    assert resolution([(1.0, 1)]) is None


def test_few_samples_are_said() -> None:
    assert few_samples(FEW_SAMPLES) == ""
    assert "only 6 samples" in few_samples(6)
    assert few_samples(1).startswith("One sample")
