"""Shared axis of the interval bars of a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.charts.interval_bar_axis import axis_to


@pytest.mark.parametrize(
    ("largest", "texts"),
    [
        (10.0, ["0", "2.5", "5", "7.5", "10"]),
        (9.9, ["0", "2.5", "5", "7.5", "10"]),
        (1.5, ["0", "0.5", "1", "1.5"]),
        (38.24, ["0", "10", "20", "30", "40"]),
        (0.031, ["0", "0.01", "0.02", "0.03", "0.04"]),
        (0.0, ["0", "0.25", "0.5", "0.75", "1"]),
    ],
)
def test_ticks_are_round_numbers_from_zero_to_at_least_the_largest_value(largest: float, texts: list[str]) -> None:
    axis = axis_to(largest)
    assert [tick.text for tick in axis.ticks] == texts
    assert [axis.ticks[0].at, axis.ticks[-1].at] == [0.0, 100.0]


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_it_reaches_the_largest_value_and_not_twice_as_far(largest: float) -> None:
    axis = axis_to(largest)
    assert largest <= axis.end * (1 + 1e-6)
    assert axis.end < 2 * largest + 1e-12 or len(axis.ticks) == 2
    assert 2 <= len(axis.ticks) <= 5


def test_positions_are_proportional_and_at_most_the_end() -> None:
    axis = axis_to(10.0)
    assert [axis.at(value) for value in (0.0, 2.5, 12.0)] == [0.0, 25.0, 100.0]
