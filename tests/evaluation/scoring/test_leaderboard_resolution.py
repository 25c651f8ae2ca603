"""What a leaderboard can separate."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.scoring.leaderboard_resolution import FEW_SAMPLES, few_samples, sentence


def said(ranked: Sequence[tuple[float, int]]) -> str:
    return sentence(ranked, "20 samples", str)


def test_the_closest_separated_pair_is_found() -> None:
    # the third is separated from the first only, the fourth from the first two, the fifth from the fourth
    rows = [(9.0, 1), (8.5, 1), (7.0, 2), (6.0, 3), (5.5, 5)]
    assert said(rows) == "With 20 samples, scores closer than about 0.5 are not separated."
    assert "about 2.0 are" in said(rows[:4])


def test_smaller_may_be_better() -> None:
    assert "about 3.0 are" in said([(1.0, 1), (4.0, 2)])


def test_no_pair_is_separated() -> None:
    assert said([(9.0, 1), (8.0, 1)]) == "With 20 samples, no two scores are separated."


def test_a_single_row_has_nothing_to_compare() -> None:
    assert said([]) == ""
    assert said([(1.0, 1)]) == ""


def test_few_samples_are_said() -> None:
    assert few_samples(FEW_SAMPLES) == ""
    assert "only 6 samples" in few_samples(6)
    assert few_samples(1).startswith("One sample")
