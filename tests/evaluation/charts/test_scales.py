"""Axes of charts."""

from __future__ import annotations

import pytest

from evaluation.charts.scales import distances_over


@pytest.mark.parametrize(
    ("distances", "ticks"),
    [
        ([], ["0", "0.25", "0.5", "0.75", "1"]),
        ([0.0, 1.0, 4.0], ["0", "1", "2", "3", "4"]),
        # a targeted attack beside untargeted ones: the smaller scores keep their distance from zero and each other
        ([0.0, 0.04, 0.11, 19.9], ["0.01", "0.03", "0.1", "0.3", "1", "3", "10"]),
    ],
)
def test_distances_that_differ_by_far_are_on_a_logarithmic_axis(distances: list[float], ticks: list[str]) -> None:
    axis = distances_over(distances)
    assert [text for _, text in axis.ticks] == ticks
    places = [axis.at(each) for each in distances]
    assert places == sorted(places)
    assert places[-1:] in ([], [pytest.approx(1.0)])
