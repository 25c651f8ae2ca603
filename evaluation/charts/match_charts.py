"""The charts of a match: what each shows, over which axes, and from which table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation.charts.chart_table import ChartTable
from evaluation.charts.histogram import Histogram, histogram
from evaluation.charts.line_chart import Curve, LineChart
from evaluation.charts.scales import LogScale, distances_over, shares

SUCCESS, QUERIES, BUDGETS, DISTRIBUTION = "success", "queries", "budgets", "distribution"
"""The charts, by their names in addresses."""

_NEIGHBOURS = 2


def share(count: int, total: int) -> float:
    """Return a share with four decimals: what is drawn, listed and downloaded."""
    return round(count / total, 4)


def success_table(columns: Mapping[str, tuple[Sequence[int], int]], distances: Sequence[float]) -> ChartTable:
    """Return the share of samples with a success within each distance; by name, the numbers and their total."""
    shares_ = [[share(count, total) for count in counts] for counts, total in columns.values()]
    return ChartTable(("distance", *columns), [(at, *values) for at, *values in zip(distances, *shares_, strict=True)])


POINTS = (
    "Points at fixed distances, the same for all matches: the samples are secret, and a finer curve would show the "
    "distances of single ones."
)
"""Why a curve over secret samples is coarse."""


def success_against_distance(
    counts: Sequence[int], total: int, distances: Sequence[float], csv: str = "", *, exact: bool
) -> LineChart:
    """Return the share of samples with a success within each distance.

    `exact`: the distances are all those at which it changes, so it has steps; otherwise it has points.
    """
    words = (
        "Share of samples with an adversarial within a distance. A clean image that the model gets wrong "
        "counts from distance 0."
    )
    return LineChart(
        key=SUCCESS,
        title="Success against distance",
        description=words if exact else f"{words} {POINTS}",
        table=success_table({"share": (counts, total)}, distances),
        lines=[Curve("share", 1)],
        x=LogScale(distances[0], distances[-1]),
        y=shares(),
        x_name="distance",
        y_name="share of samples",
        steps=exact,
        dots=not exact,
        csv=csv,
    )


def distance_against_queries(counts: Sequence[int], quartiles: Sequence[Sequence[float]], csv: str = "") -> LineChart:
    """Return the median of the closest adversarials after each number of queries, with the quartiles as a band."""
    return LineChart(
        key=QUERIES,
        title="Distance against queries",
        description=(
            "Median over samples of the closest adversarial after a number of queries, with the quartiles as a band; "
            "the worst case before the first one. An answer counts as a success where it meets the criterion of the "
            "track."
        ),
        table=ChartTable(
            ("queries", "lower quartile", "median", "upper quartile"),
            [(count, *values) for count, values in zip(counts, quartiles, strict=True)],
        ),
        lines=[Curve("median", 2, band=(1, 3))],
        x=_queries(counts),
        y=distances_over([value for values in quartiles for value in values]),
        x_name="queries",
        y_name="distance",
        csv=csv,
    )


def success_against_queries(
    counts: Sequence[int], within: Mapping[float, Sequence[int]], total: int, csv: str = ""
) -> LineChart:
    """Return the share of samples with a success after each number of queries, a curve for each distance."""
    columns = [[share(count, total) for count in found] for found in within.values()]
    return LineChart(
        key=BUDGETS,
        title="Success against queries",
        description=(
            "Share of samples with an adversarial within a distance, after a number of queries. An answer counts as a "
            "success where it meets the criterion of the track."
        ),
        table=ChartTable(
            ("queries", *map(_within, within)),
            [(count, *values) for count, *values in zip(counts, *columns, strict=True)],
        ),
        lines=[Curve(_within(distance), number) for number, distance in enumerate(within, start=1)],
        x=_queries(counts),
        y=shares(),
        x_name="queries",
        y_name="share of samples",
        csv=csv,
    )


def distribution(distances: Sequence[float], csv: str = "") -> Histogram:
    """Return the number of samples by distance."""
    return histogram(
        DISTRIBUTION,
        "Distribution of the distances",
        "Number of samples by the distance that counts: 0 where the model was wrong on the clean image, and the "
        "worst case where no adversarial was found.",
        distances,
        x_name="distance",
        csv=csv,
    )


def around(distances: Sequence[float], middle: float) -> Sequence[float]:
    """Return three of the distances: the first one that is not below `middle`, and one on each side of it."""
    place = next((number for number, distance in enumerate(distances) if distance >= middle), len(distances) - 1)
    places = sorted({max(0, place - _NEIGHBOURS), place, min(len(distances) - 1, place + _NEIGHBOURS)})
    return [distances[number] for number in places]


def _within(distance: float) -> str:
    return f"within {distance:,g}"


def _queries(counts: Sequence[int]) -> LogScale:
    return LogScale(1.0, float(max(counts[-1], 2)))
