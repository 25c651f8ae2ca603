"""Data of the page of a match: its numbers, charts and rows, as far as the reader sees them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from core import faults, rounding
from core.errors import Fault
from matches import curves
from matches.curves import ByQuery, Row, Summary
from matches.models import Match
from pages.charts.bars import Histogram, histogram
from pages.charts.lines import Line, LineChart
from pages.charts.scales import LogScale, linear_to, shares
from pages.charts.table import Table
from rounds.match_visibility import Sight

log = logging.getLogger(__name__)

SUCCESS, QUERIES, BUDGETS, DISTRIBUTION, SAMPLES = "success", "queries", "budgets", "distribution", "samples"
"""The tables of a match, by their names in addresses."""

_ANSWERS = "An answer counts as a success where it meets the criterion of the track."
_NEIGHBOURS = 2


@dataclass(frozen=True)
class MatchPage:
    """What a reader sees of a match. `charts` and `samples` come with the table that each shows."""

    summary: Summary | None
    success: LineChart | None
    by_query: Sequence[LineChart] = ()
    distribution: Histogram | None = None
    rows: Sequence[Row] = ()

    @property
    def tables(self) -> Mapping[str, Table]:
        """Every table that the reader may download, by name."""
        charts = [self.success, *self.by_query, self.distribution]
        found = {chart.key: chart.table for chart in charts if chart is not None}
        return found | ({SAMPLES: samples_table(self.rows)} if self.rows else {})


def match_page(match: Match, sight: Sight) -> MatchPage:
    """Return what the reader sees of a match, in a number of queries that does not grow with its samples."""
    rows = curves.rows_of(match, sight.samples)
    numbers = curves.summary(rows)
    if numbers is None:
        return MatchPage(None, None)
    success = _success(match, rows)
    if not sight.rows:
        return MatchPage(numbers, success)
    # the trace of the queries is released with the perturbed images
    by_query = _by_query(match, rows, numbers) if sight.perturbed else ()
    return MatchPage(numbers, success, by_query, _distribution(match, rows), rows)


def share(count: int, total: int) -> float:
    """Return a share with four decimals: what is drawn, listed and downloaded."""
    return round(count / total, 4)


def samples_table(rows: Sequence[Row]) -> Table:
    """Return the rows of a match as a table."""
    return Table(Row._fields, [tuple(row) for row in rows])


def success_table(columns: Mapping[str, tuple[Sequence[int], int]], distances: Sequence[float]) -> Table:
    """Return the share of samples with a success within each distance; by name, the numbers and their total."""
    shares_ = [[share(count, total) for count in counts] for counts, total in columns.values()]
    return Table(("distance", *columns), [(at, *values) for at, *values in zip(distances, *shares_, strict=True)])


def _address(match: Match, name: str) -> str:
    return reverse("pages:match_table", args=[match.pk, name])


def _success(match: Match, rows: Sequence[Row]) -> LineChart:
    distances = curves.distances_of(match)
    table = success_table({"share": (curves.within(rows, distances), len(rows))}, distances)
    return LineChart(
        key=SUCCESS,
        title="Success against distance",
        description="Share of samples with an adversarial within a distance. A clean image that the model gets wrong "
        "counts from distance 0.",
        table=table,
        lines=[Line("share", 1)],
        x=LogScale(distances[0], distances[-1]),
        y=shares(),
        x_name="distance",
        y_name="share of samples",
        steps=True,
        csv=_address(match, SUCCESS),
    )


def by_query(match: Match, rows: Sequence[Row]) -> ByQuery | None:
    """Return the curves of a match over its queries, None if they are not complete or their file is missing."""
    if match.state != Match.State.PLAYED or not rows:
        return None
    try:
        return curves.by_query(match, rows)
    except Fault as fault:  # the rest of the page does not need it
        faults.report(log, fault, "%s has no curves", match)
        return None


def _by_query(match: Match, rows: Sequence[Row], numbers: Summary) -> Sequence[LineChart]:
    found = by_query(match, rows)
    if found is None:
        return ()
    quartiles = [[rounding.distance(value) for value in values] for values in found.quartiles()]
    x = LogScale(1.0, float(max(found.counts[-1], 2)))
    falling = LineChart(
        key=QUERIES,
        title="Distance against queries",
        description="Median over samples of the closest adversarial after a number of queries, with the quartiles as a "
        f"band; the worst case before the first one. {_ANSWERS}",
        table=Table(
            ("queries", "lower quartile", "median", "upper quartile"),
            [(count, *values) for count, values in zip(found.counts, quartiles, strict=True)],
        ),
        lines=[Line("median", 2, band=(1, 3))],
        x=x,
        y=linear_to(max(high for _, _, high in quartiles)),
        x_name="queries",
        y_name="distance",
        csv=_address(match, QUERIES),
    )
    chosen = _around(curves.distances_of(match), numbers.median)
    columns = [[share(count, len(rows)) for count in found.within(distance)] for distance in chosen]
    within = LineChart(
        key=BUDGETS,
        title="Success against queries",
        description="Share of samples with an adversarial within a distance, after a number of queries. " + _ANSWERS,
        table=Table(
            ("queries", *(f"within {distance:g}" for distance in chosen)),
            [(count, *values) for count, *values in zip(found.counts, *columns, strict=True)],
        ),
        lines=[Line(f"within {distance:g}", number) for number, distance in enumerate(chosen, start=1)],
        x=x,
        y=shares(),
        x_name="queries",
        y_name="share of samples",
        csv=_address(match, BUDGETS),
    )
    return falling, within


def _around(distances: Sequence[float], middle: float) -> Sequence[float]:
    """Return three of the distances: the first one that is not below `middle`, and one on each side of it."""
    place = next((number for number, distance in enumerate(distances) if distance >= middle), len(distances) - 1)
    places = sorted({max(0, place - _NEIGHBOURS), place, min(len(distances) - 1, place + _NEIGHBOURS)})
    return [distances[number] for number in places]


def _distribution(match: Match, rows: Sequence[Row]) -> Histogram:
    return histogram(
        DISTRIBUTION,
        "Distribution of the distances",
        "Number of samples by the distance that counts: 0 where the model was wrong on the clean image, and the worst "
        "case where no adversarial was found.",
        [row.distance for row in rows],
        x_name="distance",
        csv=_address(match, DISTRIBUTION),
    )
