"""The leaderboard by threat model, with the curves of the best models."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from competitions.board_freezes import sees_live
from competitions.models import Track
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import COLOURS, LineChart
from formats.curves.models import ModelScore
from formats.curves.pages.accuracy_curves import by_budget
from formats.curves.threat_model_boards import CurvesBoard, ThreatModelOfBoard, counting_scores, threat_models_of
from pages.board.freeze_notice import freeze_of
from pages.formats import BoardContent
from submissions.column_leaderboard import PlainRow

THREAT = "threat"
"""The parameter of addresses that chooses a threat model; an unknown one is the first."""

_BOARD = CurvesBoard()


def board_content(request: HttpRequest, track: Track) -> BoardContent:
    """Return the leaderboard under the threat model that the address asks for."""
    threats = threat_models_of(track.competition)
    threat = chosen_threat(request, threats)
    rows = _rows(request, track, threat)
    context = {
        "columns": _BOARD.columns,
        "rows": rows,
        "frozen": freeze_of(track.competition, request.user),
        "threats": threats,
        "threat": threat,
        "budget": threat.budget_in_words,
        "chart": _best(track, threat, rows),
    }
    return BoardContent(
        template="formats/curves/board.html", context=context, live="formats/curves/parts/board.html", every=None
    )


def board_table(request: HttpRequest, track: Track) -> ChartTable:
    """Return the leaderboard under the threat model that the address asks for; an unknown distance is empty."""
    threat = chosen_threat(request, threat_models_of(track.competition))
    columns = ("rank", "team", "submission", *(column.name for column in _BOARD.columns))
    return ChartTable(
        columns,
        [
            (
                row.rank,
                row.team,
                row.submission.title,
                *(None if value == float("inf") else value for value in row.scored.values),
            )
            for row in _rows(request, track, threat)
        ],
    )


def chosen_threat(request: HttpRequest, threats: list[ThreatModelOfBoard]) -> ThreatModelOfBoard:
    """Return the threat model that the address asks for, or the first one."""
    wanted = request.GET.get(THREAT)
    return next((each for each in threats if each.key == wanted), threats[0])


def address_of(page: str, track: Track, threat: ThreatModelOfBoard, chosen: list[int] | None = None) -> str:
    """Return the address of a page of a track that shows a threat model, and submissions."""
    given = [(THREAT, threat.key), *(("submission", str(number)) for number in chosen or ())]
    return f"{reverse(page, args=[track.competition.slug, track.name])}?{urlencode(given)}"


def chart_of(track: Track, threat: ThreatModelOfBoard, shown: Sequence[ModelScore]) -> LineChart | None:
    """Return the curves of some models, None without any."""
    if not shown:
        return None
    csv = address_of("pages:curves_csv", track, threat, [each.submission_id for each in shown])
    return by_budget({named(each): each.curve for each in shown}, shown[0].budgets, threat, csv)


def named(score: ModelScore) -> str:
    """Return the name of a model in charts."""
    return f"{score.submission_id}: {score.submission.title} by {score.submission.repository.entry.team.name}"


def _rows(request: HttpRequest, track: Track, threat: ThreatModelOfBoard) -> list[PlainRow]:
    return _BOARD.rows_under(track, threat) if sees_live(request.user, track.competition) else []


def _best(track: Track, threat: ThreatModelOfBoard, rows: list[PlainRow]) -> LineChart | None:
    """Return the curves of the first models of the leaderboard."""
    by_submission = {each.submission_id: each for each in counting_scores(track, threat).values()}
    return chart_of(track, threat, [by_submission[row.submission.pk] for row in rows[:COLOURS]])
