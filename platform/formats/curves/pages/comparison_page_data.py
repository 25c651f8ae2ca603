"""Two or more models in one picture."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest

from competitions.board_freezes import sees_live
from competitions.models import Track
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import COLOURS
from formats.curves.models import ModelScore
from formats.curves.pages.board_page_data import chart_of, chosen_threat
from formats.curves.threat_model_boards import (
    CurvesBoard,
    ThreatModelOfBoard,
    scores_under,
    threat_models_of,
    values_of,
)
from pages.formats import Content

CHOICES = 30
"""Number of submissions to choose from: the best of the leaderboard."""

SHOWN_FIRST = 3
"""Number of submissions that are compared before anybody has chosen."""


def comparison_content(request: HttpRequest, track: Track) -> Content:
    """Return the models that the address names, side by side, under the threat model that it names."""
    threats = threat_models_of(track.competition)
    threat = chosen_threat(request, threats)
    live = sees_live(request.user, track.competition)
    board = CurvesBoard()
    rows = board.rows_under(track, threat)[:CHOICES] if live else []
    wanted = _wanted(request)
    found = _found(track, threat, wanted[:COLOURS] or [row.submission.pk for row in rows[:SHOWN_FIRST]]) if live else []
    chosen = {each.submission_id for each in found}
    on_board = {row.submission.pk for row in rows}
    models = [
        (each, [(column, column.shown(value)) for column, value in zip(board.columns, values_of(each), strict=True)])
        for each in found
    ]
    context = {
        "threats": threats,
        "threat": threat,
        "columns": board.columns,
        "models": models,
        "chart": chart_of(track, threat, found),
        "rows": rows,
        "others": [each for each in found if each.submission_id not in on_board],
        "chosen": chosen,
        "missing": [key for key in wanted[:COLOURS] if key not in chosen],
        "left_out": len(wanted[COLOURS:]),
        "most": COLOURS,
        "chosen_query": "".join(f"&submission={key}" for key in sorted(chosen)) if wanted else "",
    }
    return Content(template="formats/curves/curves.html", context=context)


def comparison_table(request: HttpRequest, track: Track) -> ChartTable | None:
    """Return the curves of these models as a table, None without any."""
    if not sees_live(request.user, track.competition):
        return None
    threat = chosen_threat(request, threat_models_of(track.competition))
    chart = chart_of(track, threat, _found(track, threat, _wanted(request)[:COLOURS]))
    return None if chart is None else chart.table


def _found(track: Track, threat: ThreatModelOfBoard, keys: Sequence[int]) -> list[ModelScore]:
    """Return the scores of these submissions, in their order."""
    scores = {each.submission_id: each for each in scores_under(track, threat).filter(submission__in=keys)}
    return [scores[key] for key in keys if key in scores]


def _wanted(request: HttpRequest) -> list[int]:
    texts = request.GET.getlist("submission")
    return list(dict.fromkeys(int(text) for text in texts if text.isdecimal() and len(text) < 10))
