"""The figures of the papers on the competitions of 2017 and 2018, for any round: what each shows, from which table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from evaluation.charts.chart_table import Cell, ChartTable
from evaluation.charts.line_chart import Curve, LineChart
from evaluation.charts.scales import LinearScale, PlaceScale, linear_over, linear_to

MOST_DOTS = 40
"""Values of a curve up to which each has a dot: more would hide the line."""

BASELINES = 4
"""Baselines with a line of their own: the first ones, as more are hard to tell apart. The table has all of them."""


Value = TypeVar("Value")


@dataclass(frozen=True)
class RankedName:
    """A player with its place."""

    place: int
    name: str


@dataclass(frozen=True)
class RankedScore(RankedName):
    """A player with its place and its score."""

    score: float


def scores_by_rank(
    title: str, scores: Sequence[RankedScore], baselines: Mapping[str, float], y: LinearScale, *, key: str,
    csv: str = "", svg: str = "",
) -> LineChart | None:  # fmt: skip
    """Return all scores by place, with a line at each of the `baselines`, the best of them first; None without scores.

    This is figure 2 of Kurakin et al. 2018.
    """
    if not scores:
        return None
    lines = " The dashed lines are baselines." if baselines else ""
    if len(baselines) > BASELINES:
        lines = f" The dashed lines are the best {BASELINES} of {len(baselines)} baselines; the numbers have all."
    rows = [(each.place, each.name, round(each.score, 6), *_rounded(baselines.values())) for each in scores]
    few = len(rows) == 1
    return LineChart(
        key=key,
        title=title,
        description=f"The score of each place.{lines}",
        table=ChartTable(("place", "name", "score", *baselines), rows),
        lines=[
            Curve("scores by place", 2, number=1, dots=len(rows) <= MOST_DOTS),
            *(
                Curve(name, 3 + number, number=2 + number, dots=few)
                for number, name in enumerate(list(baselines)[:BASELINES])
            ),
        ],
        x=PlaceScale(max(each.place for each in scores)),
        y=y,
        x_name="place",
        y_name="score",
        csv=csv,
        svg=svg,
    )


@dataclass(frozen=True)
class Series(Generic[Value]):
    """A named column: a value for each round or model."""

    name: str
    values: Sequence[Value]


def by_round(
    title: str, description: str, rounds: Sequence[tuple[int, str]], series: Sequence[Series[float | None]],
    *, key: str, y_name: str, y: LinearScale | None = None, numbers: Sequence[int] = (),
    listed: Sequence[Series[Cell]] = (), csv: str = "", svg: str = "",
) -> LineChart | None:  # fmt: skip
    """Return values over rounds, given by number and title, a curve for each series; None without any value.

    `numbers` choose the colours of the curves. `listed` are columns that are not drawn. `y`: the axis, by default one
    over 0 and all values.
    """
    known = [value for each in series for value in each.values if value is not None]
    if not known:
        return None
    columns = [*(_rounded(each.values) for each in series), *(each.values for each in listed)]
    names = [*(each.name for each in series), *(each.name for each in listed)]
    rows = [(number, *(column[place] for column in columns), name) for place, (number, name) in enumerate(rounds)]
    return LineChart(
        key=key,
        title=title,
        description=description,
        table=ChartTable(("round", *names, "title"), rows),
        lines=[
            Curve(each.name, column, number=numbers[column - 1] if numbers else None, dots=len(rounds) <= MOST_DOTS)
            for column, each in enumerate(series, start=1)
        ],
        x=PlaceScale(rounds[-1][0]),
        y=y or linear_over(min(known), max(known)),
        x_name="round",
        y_name=y_name,
        csv=csv,
        svg=svg,
    )


def robustness(
    title: str, description: str, models: Sequence[RankedName], sets: Sequence[Series[float | None]], *, key: str,
    csv: str = "", svg: str = "",
) -> LineChart | None:  # fmt: skip
    """Return the median distance of each model, a curve for each set of attacks; None without any value.

    Figures 1a and 1b of Brendel et al. 2020 compare the same sets of attacks.
    """
    known = [value for each in sets for value in each.values if value is not None]
    if not known:
        return None
    columns = [_rounded(each.values) for each in sets]
    return LineChart(
        key=key,
        title=title,
        description=description,
        table=ChartTable(
            ("place", *(each.name for each in sets), "model"),
            [(of.place, *(column[row] for column in columns), of.name) for row, of in enumerate(models)],
        ),
        lines=[Curve(each.name, column, dots=len(models) <= MOST_DOTS) for column, each in enumerate(sets, start=1)],
        x=PlaceScale(max(each.place for each in models)),
        y=linear_to(max(known)),
        x_name="place of the model",
        y_name="median distance",
        csv=csv,
        svg=svg,
    )


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else round(value, 6) for value in values]
