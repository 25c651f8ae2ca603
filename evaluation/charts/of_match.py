"""The charts of a match: what each shows, over which axes, and from which table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation.charts.bars import Histogram, histogram
from evaluation.charts.lines import Line, LineChart
from evaluation.charts.scales import LogScale, linear_to, shares
from evaluation.charts.table import Table

SUCCESS, QUERIES, BUDGETS, DISTRIBUTION = "success", "queries", "budgets", "distribution"
"""The charts, by their names in addresses."""

_ANSWERS = "An answer counts as a success where it meets the criterion of the track."
_NEIGHBOURS = 2


def share(count: int, total: int) -> float:
    """Return a share with four decimals: what is drawn, listed and downloaded."""
    return round(count / total, 4)


def success_table(columns: Mapping[str, tuple[Sequence[int], int]], distances: Sequence[float]) -> Table:
    """Return the share of samples with a success within each distance; by name, the numbers and their total."""
    shares_ = [[share(count, total) for count in counts] for counts, total in columns.values()]
    return Table(("distance", *columns), [(at, *values) for at, *values in zip(distances, *shares_, strict=True)])


def success_against_distance(counts: Sequence[int], total: int, distances: Sequence[float], csv: str = "") -> LineChart:
    """Return the share of samples with a success within each distance."""
    return LineChart(
        key=SUCCESS,
        title="Success against distance",
        description="Share of samples with an adversarial within a distance. A clean image that the model gets wrong "
        "counts from distance 0.",
        table=success_table({"share": (counts, total)}, distances),
        lines=[Line("share", 1)],
        x=LogScale(distances[0], distances[-1]),
        y=shares(),
        x_name="distance",
        y_name="share of samples",
        steps=True,
        csv=csv,
    )


def distance_against_queries(counts: Sequence[int], quartiles: Sequence[Sequence[float]], csv: str = "") -> LineChart:
    """Return the median of the closest adversarials after each number of queries, with the quartiles as a band."""
    return LineChart(
        key=QUERIES,
        title="Distance against queries",
        description="Median over samples of the closest adversarial after a number of queries, with the quartiles as a "
        f"band; the worst case before the first one. {_ANSWERS}",
        table=Table(
            ("queries", "lower quartile", "median", "upper quartile"),
            [(count, *values) for count, values in zip(counts, quartiles, strict=True)],
        ),
        lines=[Line("median", 2, band=(1, 3))],
        x=_queries(counts),
        y=linear_to(max(high for _, _, high in quartiles)),
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
        description="Share of samples with an adversarial within a distance, after a number of queries. " + _ANSWERS,
        table=Table(
            ("queries", *(f"within {distance:g}" for distance in within)),
            [(count, *values) for count, *values in zip(counts, *columns, strict=True)],
        ),
        lines=[Line(f"within {distance:g}", number) for number, distance in enumerate(within, start=1)],
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
        "Number of samples by the distance that counts: 0 where the model was wrong on the clean image, and the worst "
        "case where no adversarial was found.",
        distances,
        x_name="distance",
        csv=csv,
    )


def around(distances: Sequence[float], middle: float) -> Sequence[float]:
    """Return three of the distances: the first one that is not below `middle`, and one on each side of it."""
    place = next((number for number, distance in enumerate(distances) if distance >= middle), len(distances) - 1)
    places = sorted({max(0, place - _NEIGHBOURS), place, min(len(distances) - 1, place + _NEIGHBOURS)})
    return [distances[number] for number in places]


def _queries(counts: Sequence[int]) -> LogScale:
    return LogScale(1.0, float(max(counts[-1], 2)))
