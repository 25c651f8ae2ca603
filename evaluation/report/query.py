"""Reports of the query format: a match, and a tournament."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.domain.results import MatchResult
from evaluation.report import query_gallery, query_match, query_tournament
from evaluation.report.page import Context, render
from evaluation.runner.artefacts import median_distance
from evaluation.tournament.leaderboards import boards


def of_match(result: MatchResult, context: Context) -> str:
    """Return the report of a match."""
    return render(
        "query_match.html",
        context,
        result.rules.as_dict(),
        result=result,
        charts=query_match.charts(result, context.samples),
        median=median_distance(result),
        facts=query_match.facts(result),
        items=query_gallery.of_match(result, context.samples, context.class_names),
        table=query_match.table(result),
    )


def of_tournament(results: Sequence[MatchResult], context: Context) -> str:
    """Return the report of a tournament."""
    return render(
        "query_tournament.html",
        context,
        results[0].rules.as_dict(),
        results=results,
        boards=boards(results),
        titles=query_tournament.TITLES,
        heat_maps=query_tournament.heat_maps(results),
        charts=query_tournament.charts(results, context.samples),
        items=query_gallery.of_tournament(results, context.samples, context.class_names),
        table=query_tournament.table(results),
    )
