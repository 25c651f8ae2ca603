"""How many digits of a score are written."""

from __future__ import annotations

import pytest

from evaluation.domain.score_decimals import decimals


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (6.72, 12.51, 1),  # half-width 2.9
        (1.125, 1.5, 2),  # 0.19
        (1.0, 1.06, 3),  # 0.030
        (1.0, 1.1998, 2),  # 0.0999 is 0.10
        (10.0, 60.0, 0),  # 25
        (0.0, 500.0, 0),  # 250: no digit before the point is dropped
        (1.0, 1.0001, 3),
        (2.0, 2.0, 3),
    ],
)
def test_they_follow_two_significant_digits_of_the_half_width(low: float, high: float, expected: int) -> None:
    assert decimals(low, high) == expected
