"""What the page of a submission shows: its benchmarks, standings and curves."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import models
from django.http import HttpRequest

from competitions.board_freezes import frozen_since, sees_live
from competitions.models import Track
from core import platform_error_report
from core.errors import Fault
from evaluation.charts.line_chart import LineChart
from evaluation.domain.failure_reasons import Reason
from evaluation.formats.curves.threat_models import Knowledge
from formats.curves.best_known.released_models import released_entries
from formats.curves.listed_attacks import attack_title
from formats.curves.models import Benchmark, ModelScore
from formats.curves.pages.accuracy_curves import BUDGETS, QUERIES, by_budget, by_queries
from formats.curves.pages.best_known_page_data import address_of
from formats.curves.pages.rank_explanation import explanation_of
from formats.curves.requests_and_scores import newest_benchmarks, threat_of
from formats.curves.stored_results import budgets_of, curve_of, outcome_of
from formats.curves.threat_model_boards import CurvesBoard, ThreatModelOfBoard, threat_models_of, values_of
from formats.curves.threat_model_names import goal_name, norm_name
from pages.formats import SubmissionContent
from pages.submission.progress_steps import steps_of
from pages.submission.rank_explanation import RankExplanation
from submissions.column_leaderboard import Column
from submissions.models import Build, Submission

log = logging.getLogger(__name__)


class BenchmarkState(models.TextChoices):
    """Whether a ready submission is benchmarked, has scores, or failed."""

    PLAYING = "playing", "playing"
    SCORED = "scored", "scored"
    REJECTED = "rejected", "failed"


@dataclass(frozen=True)
class AttackRow:
    """A benchmark with what its table shows."""

    played: Benchmark
    title: str
    goal: str
    norm: str

    @property
    def accuracy(self) -> str:
        """The accuracy at the budget; empty without a result."""
        accuracy = self.played.accuracy
        return "" if accuracy is None else CurvesBoard.columns[0].shown(100.0 * accuracy)

    @property
    def distance(self) -> str:
        """The median distance; empty without a result."""
        if self.played.accuracy is None:
            return ""
        median = self.played.median_distance
        return CurvesBoard.columns[2].shown(float("inf") if median is None else median)

    @property
    def queries(self) -> str:
        """The most queries for an image, with the limit where it is one of all queries, not of each run."""
        played = self.played
        if played.most_queries is None:
            return ""
        most = intcomma(played.most_queries)
        return f"{most} / {intcomma(played.queries)}" if played.knowledge == Knowledge.DECISION else most

    @property
    def reason(self) -> str:
        """Why the submission failed, in a sentence; empty for most."""
        return Reason(self.played.reason).text if self.played.reason else ""


@dataclass(frozen=True)
class UnderThreat:
    """A submission under one threat model: its numbers, its rank if it counts, why it has that, and its curves."""

    threat: ThreatModelOfBoard
    cells: Sequence[tuple[Column, str]]
    rank: int | None
    why: RankExplanation | None
    charts: Sequence[LineChart]


def submission_content(
    request: HttpRequest, shown: Submission, builds: Sequence[Build], *, inside: bool
) -> SubmissionContent:
    """Return the benchmarks of a submission; only insiders see them while leaderboards are frozen.

    The ranks, and what they say of others, are then for organisers alone.
    """
    track = shown.repository.track
    live = sees_live(request.user, track.competition)
    since = None if inside or live else frozen_since(track.competition)
    rows = [] if since else newest_benchmarks(shown)
    done = sum(each.state == Benchmark.State.PLAYED for each in rows)
    failed = [_row(each) for each in rows if each.reason]
    under = _standings(shown, track, rows, ranked=live) if rows and done == len(rows) and not failed else []
    ready = shown.state == Submission.State.READY
    given_up = not failed and any(each.state == Benchmark.State.FAILED for each in rows)
    void = bool(failed) or given_up
    return SubmissionContent(
        template="formats/curves/parts/submission_status.html",
        context={
            "columns": CurvesBoard.columns,
            "hidden_since": since,
            "progress": (done, len(rows)) if ready and rows and not under and not void else None,
            "under": under,
            "rows": [_row(each) for each in rows],
            "failed": failed,
            "given_up": given_up,
            "best_known": [(each.round, address_of(each)) for each in released_entries(shown)],
        },
        state=_state(shown, scored=bool(under), failed=void, begun=bool(rows)),
        steps=steps_of(shown, builds, scored=bool(under), measured=bool(rows), void=void),
        final=bool(under) or void or since is not None,
        why=[each.why for each in under if each.why],
    )


def _state(shown: Submission, *, scored: bool, failed: bool, begun: bool) -> models.TextChoices:
    if shown.state != Submission.State.READY or not begun:
        return Submission.State(shown.state)
    if failed:
        return BenchmarkState.REJECTED
    return BenchmarkState.SCORED if scored else BenchmarkState.PLAYING


def _row(played: Benchmark) -> AttackRow:
    return AttackRow(played, attack_title(played.attack), goal_name(played.goal), norm_name(played.norm))


def _standings(shown: Submission, track: Track, rows: Sequence[Benchmark], *, ranked: bool) -> list[UnderThreat]:
    scores = {
        threat_of(each): each
        for each in ModelScore.objects.filter(
            submission=shown, rules=rows[0].rules_id, sample_set=rows[0].sample_set_id
        )
    }
    board, found = CurvesBoard(), []
    for threat in threat_models_of(track.competition):
        score = scores.get((threat.knowledge, threat.goal.value, threat.norm.value))
        if score is None:  # the sweep has not stored it yet
            continue
        own = [each for each in rows if threat_of(each) == threat_of(score)]
        cells = [(each, each.shown(value)) for each, value in zip(board.columns, values_of(score), strict=True)]
        others = board.rows_under(track, threat) if ranked else []
        row = next((row for row in others if row.submission == shown), None)
        why = explanation_of(threat, row, others, score, own) if row else None
        found.append(UnderThreat(threat, cells, row.rank if row else None, why, _charts(threat, own)))
    return found


def _charts(threat: ThreatModelOfBoard, rows: Sequence[Benchmark]) -> list[LineChart]:
    try:
        outcomes = {attack_title(each.attack): outcome_of(each.result) for each in rows}
    except Fault as fault:  # the rest of the page does not need them
        platform_error_report.report(log, fault, "%s has no curves", rows[0].submission)
        return []
    budgets = budgets_of(threat.budget)
    within = {name: curve_of(each.right, each.distances, budgets) for name, each in outcomes.items()}
    queries = {name: dict(zip(each.strengths, each.by_strength, strict=True)) for name, each in outcomes.items()}
    charts = [
        by_budget(within, budgets, threat, key=f"{BUDGETS}-{threat.key}"),
        by_queries(queries, threat, key=f"{QUERIES}-{threat.key}"),
    ]
    return [each for each in charts if each is not None]
