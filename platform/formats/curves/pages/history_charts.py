"""The accuracy of models over time, under each threat model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from accounts.models import User
from competitions.board_freezes import known_until
from competitions.models import Entry, Track
from core import clock
from core.time_format import for_programs, on_axis
from evaluation.charts.chart_table import Cell, ChartTable
from evaluation.charts.line_chart import Curve, LineChart
from evaluation.charts.scales import TimeScale, shares
from formats.curves.models import ModelScore
from formats.curves.threat_model_boards import ThreatModelOfBoard, scores_under, threat_models_of
from pages.formats import Content
from submissions.selectors import ready_submissions

SCORE = "score"
"""Name of the chart of a team."""


def history_content(request: HttpRequest, track: Track) -> Content:
    """Return the best accuracy of any model over time, under each threat model."""
    until = known_until(request.user, track.competition)
    charts = [_best(track, threat, until) for threat in threat_models_of(track.competition)]
    context = {"charts": [each for each in charts if each], "frozen_since": until}
    return Content(template="formats/curves/history.html", context=context)


def history_chart(request: HttpRequest, track: Track, name: str) -> LineChart | None:
    """Return the chart of a threat model, None for an unknown one and without scores."""
    threat = next((each for each in threat_models_of(track.competition) if each.key == name), None)
    return None if threat is None else _best(track, threat, known_until(request.user, track.competition))


def team_history(entry: Entry, track: Track, user: User | AnonymousUser) -> Sequence[LineChart]:
    """Return the accuracy of a team's submissions over time, a curve for each threat model."""
    until = known_until(user, entry.competition)
    threats = threat_models_of(track.competition)
    own = {
        threat: list(_until(scores_under(track, threat), until).filter(submission__repository__entry=entry))
        for threat in threats
    }
    moments = sorted({each.scored_at for scores in own.values() for each in scores})
    if not moments:
        return ()
    end = max(until or clock.now(), moments[-1])
    rows: list[Sequence[Cell]] = []
    for at in [*moments, end]:
        # as on the leaderboard: an earlier submission may be scored later
        known = ([each for each in own[threat] if each.scored_at <= at] for threat in threats)
        newest = [max(scores, key=lambda each: each.submission_id, default=None) for scores in known]
        rows.append((for_programs(at), *(None if each is None else round(each.accuracy, 4) for each in newest)))
    names = [threat.title for threat in threats]
    return (
        _chart(
            f"{SCORE}-{track.name}",
            f"{track.title}: accuracy at the budget",
            "Of the submission that counted. Larger is better.",
            ChartTable(("time", *names), rows),
            [Curve(name, number) for number, name in enumerate(names, start=1)],
            TimeScale(moments[0], end, on_axis),
            reverse("pages:team_history", args=[entry.team.slug, track.name, SCORE]),
        ),
    )


def _best(track: Track, threat: ThreatModelOfBoard, until: datetime | None) -> LineChart | None:
    """Return the best accuracy so far, at the time of each score."""
    scores = list(_until(scores_under(track, threat), until))
    if not scores:
        return None
    end = max(until or clock.now(), scores[-1].scored_at)
    rows: list[Sequence[Cell]] = []
    best = scores[0]
    for each in scores:
        best = max(best, each, key=lambda score: score.accuracy)
        rows.append((for_programs(each.scored_at), round(best.accuracy, 4), best.submission_id, _title(best)))
    rows.append((for_programs(end), *rows[-1][1:]))
    return _chart(
        threat.key,
        threat.title,
        f"The best accuracy of any model at budget {threat.budget:,g}.",
        ChartTable(("time", "accuracy", "submission", "title"), rows),
        [Curve("accuracy", 1)],
        TimeScale(scores[0].scored_at, end, on_axis),
        reverse("pages:history_table", args=[track.competition.slug, track.name, threat.key]),
    )


def _chart(
    key: str, title: str, description: str, table: ChartTable, lines: Sequence[Curve], x: TimeScale, csv: str
) -> LineChart:
    return LineChart(
        key=key, title=title, description=description, table=table, lines=lines, x=x, y=shares(), x_name="UTC",
        y_name="accuracy", steps=True, csv=csv,
    )  # fmt: skip


def _until(scores: QuerySet[ModelScore], until: datetime | None) -> QuerySet[ModelScore]:
    seen = scores if until is None else scores.filter(scored_at__lte=until)
    return seen.filter(submission__in=ready_submissions()).order_by("scored_at", "pk")


def _title(score: ModelScore) -> str:
    return f"{score.submission.title} by {score.submission.repository.entry.team.name}"
