"""Charts of a match."""

from __future__ import annotations

from evaluation.charts.match_charts import distance_against_queries


def test_small_distances_after_a_large_first_one_stay_apart() -> None:
    chart = distance_against_queries([1, 10, 100], [(30.0, 30.0, 30.0), (1.0, 2.0, 3.0), (0.1, 0.2, 0.4)])
    lowest, highest = (chart.y.at(value) for value in (0.2, 2.0))
    assert highest - lowest > 0.25
