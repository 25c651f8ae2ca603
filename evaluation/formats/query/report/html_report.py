"""Reports of the query format: a match, and a tournament."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.formats.query.report import gallery, match, tournament
from evaluation.formats.query.results import MatchResult
from evaluation.formats.query.runner.match_result_files import median_distance
from evaluation.formats.query.tournament.leaderboards import boards
from evaluation.report.page import Context, render

_PACKAGE = "evaluation.formats.query.report"


def of_match(result: MatchResult, context: Context) -> str:
    """Return the report of a match."""
    return render(
        _PACKAGE,
        "match.html",
        context,
        result.rules.as_dict(),
        result=result,
        charts=match.charts(result, context.samples),
        median=median_distance(result),
        facts=match.facts(result),
        items=gallery.of_match(result, context.samples, context.class_names),
        table=match.table(result),
    )


def of_tournament(results: Sequence[MatchResult], context: Context) -> str:
    """Return the report of a tournament."""
    return render(
        _PACKAGE,
        "tournament.html",
        context,
        results[0].rules.as_dict(),
        results=results,
        boards=boards(results),
        titles=tournament.TITLES,
        heat_maps=tournament.heat_maps(results),
        charts=tournament.charts(results, context.samples),
        items=gallery.of_tournament(results, context.samples, context.class_names),
        table=tournament.table(results),
    )
