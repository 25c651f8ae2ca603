"""What the report of a match shows: its numbers, charts and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from evaluation.charts import match_charts
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.histogram import Histogram
from evaluation.charts.line_chart import LineChart
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.results import MatchResult, Outcome, Trace
from evaluation.formats.query.scoring import match_curves
from evaluation.formats.query.scoring.match_curves import (
    ByQuery,
    answered,
    budgets,
    exact_distances,
    query_counts,
    success_distance,
    successes,
)

_COLUMNS = ("sample", "outcome", "distance", "queries", "seconds", "reason", "found_label")


def charts(result: MatchResult, samples: Sequence[Sample]) -> list[LineChart | Histogram]:
    """Return the charts of a match; those over queries only where a query was recorded."""
    rows = result.samples
    distances = budgets(result.rules.shape)
    values = [row.distance for row in rows]
    outcomes = [row.outcome for row in rows]
    at = exact_distances(map(success_distance, outcomes, values), distances)
    found = successes(outcomes, values, at)
    recorded = by_query(result, samples)
    over_queries: list[LineChart] = []
    if recorded is not None:
        middle = float(np.median(values))
        within = {distance: recorded.within(distance) for distance in match_charts.around(distances, middle)}
        over_queries = [
            match_charts.distance_against_queries(recorded.counts, recorded.quartiles()),
            match_charts.success_against_queries(recorded.counts, within, len(rows)),
        ]
    return [
        match_charts.success_against_distance(found, len(rows), at, exact=True),
        *over_queries,
        match_charts.distribution(values),
    ]


def facts(result: MatchResult) -> list[tuple[str, str]]:
    """Return what the report says about a match before its charts."""
    rows = result.samples
    counts = Counter(row.outcome for row in rows)
    audit = "open" if result.audit.open else "passed" if result.audit.passed else "failed"
    return [
        ("Adversarial found", f"{counts[Outcome.ADVERSARIAL]} of {len(rows)}"),
        ("Held", f"{counts[Outcome.FAILED]} of {len(rows)}"),
        ("Wrong on the clean image", f"{counts[Outcome.CLEAN_WRONG]} of {len(rows)}"),
        ("Mean queries", f"{np.mean([row.queries for row in rows]):.0f} of {result.rules.query_budget:,}"),
        ("Median time", f"{np.median([row.seconds for row in rows]):.3g} s"),
        ("Audit of the model", audit),
    ]


def table(result: MatchResult) -> ChartTable:
    """Return the rows of a match, with the digits of `result.json`."""
    return ChartTable(
        _COLUMNS,
        [
            (
                *(row.sample, str(row.outcome), row.distance, row.queries, round(row.seconds, 4)),
                *(str(row.reason) if row.reason else None, row.found_label),
            )
            for row in result.samples
        ],
    )


def by_query(result: MatchResult, samples: Sequence[Sample]) -> ByQuery | None:
    """Return how the distances fell with the queries, None where no query was recorded."""
    traces = [piece.trace for piece in result.pieces]
    if not any(map(len, traces)):
        return None
    whole = Trace(*(np.concatenate([getattr(trace, name) for trace in traces]) for name in Trace.__annotations__))
    rows, counts = result.samples, query_counts(result.rules.query_budget)
    worst = {row.sample: row.worst_case for row in rows}
    queries = answered(whole, samples, worst, targeted=result.track == TrackName.TARGETED)
    return match_curves.by_query(queries, [row.outcome for row in rows], counts)
