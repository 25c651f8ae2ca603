"""Data of the page of a match: its numbers, charts and rows, as far as the reader sees them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from core import platform_error_report, rounding
from core.errors import Fault
from evaluation.charts import match_charts
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.histogram import Histogram
from evaluation.charts.line_chart import LineChart
from evaluation.charts.match_charts import BUDGETS, DISTRIBUTION, QUERIES, SUCCESS
from formats.query.matches import match_numbers_and_curves
from formats.query.matches.match_numbers_and_curves import ByQuery, MatchSampleRow, Summary
from formats.query.matches.models import Match
from formats.query.rounds.match_visibility import Sight

log = logging.getLogger(__name__)

SAMPLES = "samples"
"""The table of the rows, by its name in addresses."""


@dataclass(frozen=True)
class MatchPage:
    """What a reader sees of a match. `charts` and `samples` come with the table that each shows."""

    summary: Summary | None
    success: LineChart | None
    by_query: Sequence[LineChart] = ()
    distribution: Histogram | None = None
    rows: Sequence[MatchSampleRow] = ()

    @property
    def tables(self) -> Mapping[str, ChartTable]:
        """Every table that the reader may download, by name."""
        charts = [self.success, *self.by_query, self.distribution]
        found = {chart.key: chart.table for chart in charts if chart is not None}
        return found | ({SAMPLES: samples_table(self.rows)} if self.rows else {})


def match_page(match: Match, sight: Sight) -> MatchPage:
    """Return what the reader sees of a match, in a number of queries that does not grow with its samples."""
    rows = match_numbers_and_curves.rows_of(match, sight.samples)
    numbers = match_numbers_and_curves.summary(rows)
    if numbers is None:
        return MatchPage(None, None)
    success = _success(match, rows, exact=sight.rows)
    if not sight.rows:
        return MatchPage(numbers, success)
    # the trace of the queries is released with the perturbed images
    by_query = _by_query(match, rows, numbers) if sight.perturbed else ()
    return MatchPage(numbers, success, by_query, _distribution(match, rows), rows)


def samples_table(rows: Sequence[MatchSampleRow]) -> ChartTable:
    """Return the rows of a match as a table."""
    return ChartTable(MatchSampleRow._fields, [tuple(row) for row in rows])


def _address(match: Match, name: str) -> str:
    return reverse("pages:match_table", args=[match.pk, name])


def _success(match: Match, rows: Sequence[MatchSampleRow], *, exact: bool) -> LineChart:
    distances = match_numbers_and_curves.distances_between(
        rows, match_numbers_and_curves.distances_of(match), exact=exact
    )
    found = match_numbers_and_curves.within(rows, distances)
    return match_charts.success_against_distance(found, len(rows), distances, _address(match, SUCCESS), exact=exact)


def by_query(match: Match, rows: Sequence[MatchSampleRow]) -> ByQuery | None:
    """Return the curves of a match over its queries, None if they are not complete or their file is missing."""
    if match.state != Match.State.PLAYED or not rows:
        return None
    try:
        return match_numbers_and_curves.by_query(match, rows)
    except Fault as fault:  # the rest of the page does not need it
        platform_error_report.report(log, fault, "%s has no curves", match)
        return None


def _by_query(match: Match, rows: Sequence[MatchSampleRow], numbers: Summary) -> Sequence[LineChart]:
    found = by_query(match, rows)
    if found is None:
        return ()
    quartiles = [[rounding.distance(value) for value in values] for values in found.quartiles()]
    within = {
        distance: found.within(distance)
        for distance in match_charts.around(match_numbers_and_curves.distances_of(match), numbers.median)
    }
    return (
        match_charts.distance_against_queries(found.counts, quartiles, _address(match, QUERIES)),
        match_charts.success_against_queries(found.counts, within, len(rows), _address(match, BUDGETS)),
    )


def _distribution(match: Match, rows: Sequence[MatchSampleRow]) -> Histogram:
    return match_charts.distribution([row.distance for row in rows], _address(match, DISTRIBUTION))
