"""Scores of finished matches, and the standings that follow from them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from competitions.models import Track
from core import event_log, platform_error_report, submission_traces
from core.errors import Fault
from core.models import Event
from evaluation.formats.query.results import AuditReport
from formats.query.leaderboards.evaluation_basis import (
    COUNTED,
    OWN_OPPONENTS,
    finished_evaluations,
    key_in_force,
    measured_tracks,
    scored_rows,
)
from formats.query.leaderboards.models import Evaluation, Resamples, Standing
from formats.query.leaderboards.player_owners import left_out
from formats.query.leaderboards.rank_intervals import with_intervals
from formats.query.leaderboards.ranking import BoardPlace, places
from formats.query.leaderboards.scoring_adapter import PlayedSample, PoolOpponent, Scores, distrusted, score_columns
from formats.query.leaderboards.snapshots_and_freezes import time_of_a_result
from formats.query.leaderboards.submission_choices import choice_changes, submissions_tried
from formats.query.matches.models import Match, SampleResult
from formats.query.tracks import MODEL
from submissions.models import Submission
from submissions.quota_ledger import refund

log = logging.getLogger(__name__)

RANKS = BoardPlace._fields[2:]
"""The columns of a standing that depend on the whole board."""

AUDIT_COUNTS = tuple(count.name for count in fields(AuditReport))


@dataclass(frozen=True)
class _Ending:
    """How an evaluation ends: its columns and resamples. A void one has no score."""

    state: Evaluation.State
    columns: dict[str, Any] = field(default_factory=dict)
    resampled: bytes = b""
    cause: str = ""
    reason: str = ""
    problem: str = ""


def score_finished() -> int:
    """Score or void every evaluation whose matches have ended, and update the leaderboards; return how many ended.

    Scores are computed before the locks, from rows that no longer change; the locks on the submissions and the track
    cover only the writes of scores and standings. An evaluation that cannot be ended is logged and skipped.
    """
    due: dict[int, list[Evaluation]] = {}
    for evaluation in (
        finished_evaluations().select_related("submission__repository__track", "pool", "sample_set").order_by("pk")
    ):
        due.setdefault(evaluation.submission.repository.track_id, []).append(evaluation)
    return sum(_end_all(track, evaluations) for track, evaluations in due.items())


def refresh_boards() -> None:
    """Update leaderboards that differ for another reason than a score, such as a disqualification."""
    for track in measured_tracks():
        # usually nothing differs, and no lock is needed
        if any(difference_of(track)):
            recompute(track)


def _end_all(track: int, evaluations: Sequence[Evaluation]) -> int:
    endings = []
    for evaluation in evaluations:
        try:
            matches = _matches_of(evaluation)
            endings.append((evaluation, matches, _ending(evaluation)))
        except Exception as error:  # any error: the others are still scored
            platform_error_report.report(log, error, "%s cannot be ended", evaluation)
    keys = {evaluation.submission_id for evaluation in evaluations}
    with transaction.atomic():
        # submissions before the track, as in rounds: one withdrawn now either was scored before, or is not `over`
        list(Submission.objects.select_for_update(no_key=True).filter(pk__in=keys).order_by("pk").values_list("pk"))
        locked = Track.objects.select_for_update(no_key=True).get(pk=track)
        ended = [
            evaluation
            for evaluation, matches, ending in endings
            # a rejudging published meanwhile exchanges matches: scored next time
            if matches == _matches_of(evaluation) and _try_to_end(evaluation, ending, finished_evaluations())
        ]
        if any(evaluation.counts for evaluation in ended):
            recompute(locked)
    return len(ended)


def _matches_of(evaluation: Evaluation) -> set[int]:
    return set(evaluation.matches.values_list("pk", flat=True))


def _try_to_end(evaluation: Evaluation, ending: _Ending, due: QuerySet[Evaluation]) -> bool:
    try:
        with transaction.atomic():
            return _end(evaluation, ending, due)
    except Exception as error:  # any error: the others are still ended
        platform_error_report.report(log, error, "%s cannot be ended", evaluation)
        return False


def _ending(evaluation: Evaluation) -> _Ending:
    is_model = evaluation.submission.repository.track.name == MODEL
    matches = list(evaluation.matches.select_related("model", "attack"))
    inconsistent = [match for match in matches if _inconsistent(match)]
    if is_model and _is_blamed(inconsistent, matches):
        first = inconsistent[0]
        counts = AuditReport(**{name: first.audit.get(name, 0) for name in AUDIT_COUNTS})
        problem = (
            "The model is not a stateless, deterministic function of one image. "
            f"In {len(inconsistent)} of {len(matches)} matches, first in match {first.pk}: {counts}."
        )
        return _void(Submission.Cause.TEAM, "inconsistent", problem)
    if left_out(evaluation) >= set(evaluation.pool.places.values_list("player", flat=True)):
        problem = (
            f"Every model of pool {evaluation.pool.number} belongs to your own team, and these do not count in the "
            "score of your attack. It is measured again against the next pool, and your quota slot is refunded."
        )
        return _void(Submission.Cause.PLATFORM, OWN_OPPONENTS, problem)
    failed = [match for match in matches if match.state == Match.State.FAILED]
    if failed:
        return _fault(f"A platform error occurred in match {failed[0].pk}.")
    unaudited = [match for match in matches if match.state == Match.State.PLAYED and match.audit.get("open")]
    if unaudited:
        return _fault(f"The audit of match {unaudited[0].pk} was not completed.")
    try:
        scores = scores_of(evaluation)
    except Fault as fault:
        platform_error_report.report(log, fault, "%s cannot be scored", evaluation)
        return _fault(f"A platform error occurred during scoring: {fault}.")
    return _Ending(Evaluation.State.SCORED, scores.columns, scores.resampled)


def _is_blamed(inconsistent: Sequence[Match], matches: Sequence[Match]) -> bool:
    """Return whether a model is itself the cause of its failed audits.

    Any match can show state. Different labels in a different batch are no proof by themselves: rounding flips labels at
    the decision boundary, and one attack may have collected such images to void the model. So most matches must agree,
    and two at least: in a pool of one attack, a rival could void every model for good.
    """
    stateful = any(match.audit.get("stateful") for match in inconsistent)
    return stateful or distrusted(failed=len(inconsistent), met=len(matches))


def _fault(problem: str) -> _Ending:
    problem = f"{problem} This does not count against your quota. Organisers can start the evaluation again."
    return _void(Submission.Cause.PLATFORM, "fault", problem)


def _void(cause: Submission.Cause, reason: str, problem: str) -> _Ending:
    return _Ending(Evaluation.State.VOID, cause=cause, reason=reason, problem=problem)


def _inconsistent(match: Match) -> bool:
    return match.state == Match.State.PLAYED and match.audit.get("passed") is False


def scores_of(evaluation: Evaluation) -> Scores:
    """Return the score of the finished rows; raise `Fault` where rows or whole matches are missing."""
    track_name = evaluation.submission.repository.track.name
    side = "attack" if track_name == MODEL else "model"
    match_of: dict[int, int] = dict(evaluation.matches.values_list(f"{side}_id", "pk"))
    rows: dict[int, list[PlayedSample]] = {match: [] for match in match_of.values()}
    results = SampleResult.objects.filter(match__in=rows).order_by("match", "sample")
    for match, *values in results.values_list("match", *PlayedSample._fields):
        rows[match].append(PlayedSample(*values))
    own = left_out(evaluation)
    if missing := evaluation.pool.places.exclude(player__in=match_of).first():
        raise Fault(f"it has no match with {missing.player}")
    opponents = [
        PoolOpponent(place.player_id, place.player.title, rows[match_of[place.player_id]], place.player_id in own)
        for place in evaluation.pool.places.select_related("player")
    ]
    return score_columns(track_name, opponents, evaluation.sample_set.count)


def _end(evaluation: Evaluation, ending: _Ending, due: QuerySet[Evaluation]) -> bool:
    """Write the ending if it is still `due`: not written elsewhere, and no match is being replayed."""
    written = due.filter(pk=evaluation.pk).update(
        state=ending.state,
        finished_at=time_of_a_result(evaluation.submission.repository.track.competition_id),
        cause=ending.cause,
        reason=ending.reason,
        problem=ending.problem,
        **ending.columns,
    )
    if not written:
        return False
    submission_traces.span_of_commit("score", evaluation.submission_id, evaluation=evaluation.pk, outcome=ending.state)
    if ending.state == Evaluation.State.VOID:
        event_log.record("void", evaluation, reason=ending.reason, cause=ending.cause, problem=ending.problem)
    if ending.cause == Submission.Cause.PLATFORM and evaluation.counts:
        refund(submission=evaluation.submission, reason=ending.reason)
    if ending.state == Evaluation.State.SCORED:
        keep_resamples(evaluation, ending.resampled)
        if evaluation.counts:
            event_log.record("score", evaluation.submission, evaluation=evaluation.pk)
        for match in filter(_inconsistent, evaluation.matches.all()):
            record_once("inconsistent", match, problem=f"{match.model} of a pool failed its audit")
    return True


def keep_resamples(evaluation: Evaluation, resampled: bytes) -> None:
    Resamples.objects.update_or_create(evaluation=evaluation, defaults={"medians": resampled})


def record_once(verb: str, subject: Match | Evaluation, **data: Any) -> None:
    """Record an event for the organisers, once per subject."""
    if not Event.objects.filter(verb=verb, subject=event_log.name_of(subject)).exists():
        event_log.record(verb, subject, **data)


def recompute(track: Track, *, again: bool = False) -> int:
    """Make the track's standings match its scored evaluations; return how many rows changed.

    `again` computes rank intervals even where the same scores are compared as before.
    """
    with transaction.atomic():
        Track.objects.select_for_update(no_key=True).get(pk=track.pk)
        changed, gone = difference_of(track, again=again)
        Standing.objects.bulk_create(
            (
                Standing(
                    track=track,
                    entry_id=place.entry,
                    evaluation_id=place.evaluation,
                    **{name: getattr(place, name) for name in RANKS},
                )
                for place in changed
            ),
            update_conflicts=True,
            unique_fields=["track", "entry"],
            update_fields=["evaluation", *RANKS],
        )
        Standing.objects.filter(track=track, entry__in=gone).delete()
    return len(changed) + len(gone)


def difference_of(track: Track, *, again: bool = False) -> tuple[list[BoardPlace], list[int]]:
    """Return the places that are missing or wrong in the track's standings, and the entries to remove."""
    columns = Standing.objects.filter(track=track).values_list(*BoardPlace._fields)
    standing = {row[0]: BoardPlace(*row) for row in columns}
    rows, tried = scored_rows(track), submissions_tried(track, COUNTED)
    board = places(rows, track.name, key_in_force(track), choice_changes(track), tried)
    board = with_intervals(board, {} if again else standing, track.name)
    changed = [place for entry, place in board.items() if standing.get(entry) != place]
    return changed, [entry for entry in standing if entry not in board]
