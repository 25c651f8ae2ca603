"""The figures of the papers: what is drawn is what the table holds, for few players and for many."""

from __future__ import annotations

import re

import pytest

from evaluation.charts.chart_as_svg_file import svg_file
from evaluation.charts.line_chart import BOTTOM, LEFT, RIGHT, TOP, Drawn, LineChart
from evaluation.charts.paper_figures import (
    BASELINES,
    RankedName,
    RankedScore,
    Series,
    by_round,
    robustness,
    scores_by_rank,
)
from evaluation.charts.scales import linear_over, shares, shares_over

POINT = re.compile(r"[ML]([\d.]+) ([\d.]+)")


def points(drawn: Drawn) -> list[tuple[float, float]]:
    """Read places as shares of the axes back from a path."""
    return [
        ((float(x) - LEFT) / (RIGHT - LEFT), (BOTTOM - float(y)) / (BOTTOM - TOP)) for x, y in POINT.findall(drawn.path)
    ]


def ranked(players: int) -> LineChart:
    scores = [RankedScore(place, f"team {place}", 1 - place / (players + 1)) for place in range(1, players + 1)]
    chart = scores_by_rank("Defences", scores, {"plain": 0.6, "jpeg": 0.25}, shares(), key="scores-defence")
    assert chart
    return chart


@pytest.mark.parametrize("players", [1, 3, 300])
def test_scores_by_rank_are_those_of_the_table_and_baselines_are_level_lines(players: int) -> None:
    chart = ranked(players)
    scores, plain, jpeg = chart.drawn
    assert [y for _, y in points(scores)] == pytest.approx([row[2] for row in chart.table.rows], abs=1e-4)
    assert [y for _, y in points(plain)] == pytest.approx([0.6] * players, abs=1e-4)
    assert [y for _, y in points(jpeg)] == pytest.approx([0.25] * players, abs=1e-4)
    assert [x for x, _ in points(scores)][:: max(1, players - 1)] == pytest.approx([0.5] if players == 1 else [0, 1])
    assert len(chart.table.rows) == players
    assert bool(scores.points) == (players <= 40)
    assert bool(plain.points) == (players == 1), "a line of one place would not be seen"


def test_the_best_baselines_have_lines_and_the_table_has_all() -> None:
    baselines = {f"baseline {number}": 0.9 - number / 10 for number in range(BASELINES + 2)}
    chart = scores_by_rank("Attacks", [RankedScore(1, "a", 0.95)], baselines, shares(), key="scores")
    assert chart
    assert [line.name for line in chart.lines] == ["scores by place", *list(baselines)[:BASELINES]]
    assert chart.table.columns[3:] == tuple(baselines)
    assert f"the best {BASELINES} of {len(baselines)} baselines" in chart.description


def test_values_by_round_keep_their_series_and_go_below_zero() -> None:
    chart = by_round(
        "Progress",
        "What it says",
        [(1, "First"), (2, "Second"), (4, "Final")],
        [Series("A track", [-0.1, None, 0.2]), Series("A track", [None, 0.3, 0.35])],
        key="progress",
        y_name="difference",
        listed=[Series("first", ["owls", None, "bats"])],
    )
    assert chart
    assert chart.table.rows == [
        (1, -0.1, None, "owls", "First"), (2, None, 0.3, None, "Second"), (4, 0.2, 0.35, "bats", "Final"),
    ]  # fmt: skip
    first, second = (points(drawn) for drawn in chart.drawn)
    assert [x for x, _ in first] == pytest.approx([0, 1])
    assert [x for x, _ in second] == pytest.approx([1 / 3, 1], abs=1e-4)
    ends = chart.y.ticks[0][0], chart.y.ticks[-1][0]
    assert ends[0] <= -0.1 < 0.35 <= ends[1]
    assert [ends[0] + (ends[1] - ends[0]) * y for _, y in first] == pytest.approx([-0.1, 0.2], abs=1e-3)


def test_robustness_has_a_curve_for_each_set_of_attacks() -> None:
    models = [RankedName(1, "owls"), RankedName(2, "bats")]
    chart = robustness("R", "d", models, [Series("first", [None, 2.0]), Series("counted", [1.5, 1.0])], key="r")
    assert chart
    assert chart.table.rows == [(1, None, 1.5, "owls"), (2, 2.0, 1.0, "bats")]
    assert [len(points(drawn)) for drawn in chart.drawn] == [1, 2]
    assert svg_file(chart).count(">counted</text>") == 1


def test_without_values_nothing_is_drawn() -> None:
    assert scores_by_rank("A", [], {"plain": 0.5}, shares(), key="a") is None
    assert by_round("A", "d", [], [], key="a", y_name="y") is None
    assert by_round("A", "d", [(1, "First")], [Series("a", [None])], key="a", y_name="y") is None
    assert robustness("A", "d", [], [Series("a", [])], key="a") is None


@pytest.mark.parametrize(("smallest", "largest"), [(-0.1, 0.35), (-3.0, -1.0), (-0.02, 0.0), (0.0, 0.7)])
def test_an_axis_over_negative_values_holds_them_and_zero(smallest: float, largest: float) -> None:
    axis = linear_over(smallest, largest)
    assert axis.start <= min(smallest, 0)
    assert axis.end >= max(largest, 0)
    assert any(value == 0 for value, _ in axis.ticks)
    assert len(axis.ticks) <= 10


def test_differences_of_shares_are_labelled_in_per_cent() -> None:
    labels = [label.replace("\u00a0", " ") for _, label in shares_over(-0.1, 0.35).ticks]
    assert labels == ["-10 %", "0 %", "10 %", "20 %", "30 %", "40 %"]
