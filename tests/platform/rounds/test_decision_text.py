"""Decisions of rounds as sentences."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from formats.query.rounds.decision_text import why


@pytest.mark.parametrize(
    ("ordered_by", "value", "line", "words"),
    [
        ("median", 0.123456, 0.0123456, "median 0.123, threshold 0.012"),
        ("median", 12.3456, 11.9876, "median 12.35, threshold 11.99"),
        ("mean_rank", 31.25, 24.875, "mean rank 31.25, threshold 24.88"),
    ],
)
def test_distances_have_no_more_decimals_than_in_the_api(
    ordered_by: str, value: float, line: float, words: str
) -> None:
    stage = SimpleNamespace(number=2, samples=16, ordered_by=ordered_by)
    cut = SimpleNamespace(place=31, value=value, cut_line=line, kept=False, inconsistent=False)
    assert why(stage, cut) == f"cut in stage 2 on 16 samples: {words}"
