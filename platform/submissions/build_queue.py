"""Attempts to build submissions: claim, and the transition of the submission at the end.

A worker holds its `Build` by a lease (`workers.lease`). Only the holder decides on the submission's next state. Each
claim makes a new `Build`, so that a submission's faults are those of its builds (`submissions.build_outcomes`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from competitions.models import Competition
from core import clock, event_log, platform_error_report
from core.time_format import in_words
from core.worker_notifications import notify
from submissions import player_builds, quota_ledger, state_timeouts
from submissions.build_order import BUILD
from submissions.build_outcomes import (
    FAULT,
    LOST,
    OVERDUE,
    PLATFORM_FAULTS,
    READY,
    STOPPED,
    WITHDRAWN,
    attempts_of,
    is_given_up,
    pause_after,
    paused_submissions,
)
from submissions.formats import format_of
from submissions.hiding import label_player
from submissions.models import Build, Player, Submission
from submissions.quota import REFUNDED_FAULTS
from workers.fault_record import MAX_FAULTS
from workers.models import Priority
from workers.team_queue_order import charge
from workers.work_kind_interface import Held

log = logging.getLogger(__name__)

BUILD_MARGIN = timedelta(minutes=10)
"""Time that a build may take beyond its builder's limit: the checkout, a busy engine."""
NOTIFY_AGAIN = timedelta(seconds=30)
"""Time until a builder is notified again of a waiting submission: the message may be lost."""
NOTIFIED_AT_ONCE = 4
"""Maximum of notifications per sweep: a long queue alone needs no further messages."""


def claim(submission_id: int, worker: str) -> Build | None:
    """Claim a received submission for the lease; return None if another worker has it or it was withdrawn."""
    limit = player_builds.build_limit() + BUILD_MARGIN
    now = clock.database_now()
    with transaction.atomic():
        received = Submission.objects.filter(pk=submission_id, state=Submission.State.RECEIVED)
        if not received.update(state=Submission.State.BUILDING, state_since=now, deadline=now + limit):
            return None
        last = Build.objects.filter(submission_id=submission_id).order_by("attempt").last()
        return Build.objects.create(
            submission_id=submission_id,
            attempt=last.attempt + 1 if last else 1,
            worker=worker,
            started_at=now,
            lease_until=now + Build.LEASE,
        )


def begin_checks(build: Build, limit: timedelta) -> bool:
    """Move the submission from building to checking; return False if this worker lost the build."""
    with _locked(build) as submission:
        if submission is None:
            return False
        Build.objects.filter(pk=build.pk).update(checks_began_at=clock.database_now())
        _move(submission, Submission.State.CHECKING, deadline=clock.database_now() + limit)
    return True


def succeed(build: Build, player: Player, checks: Sequence[dict[str, Any]]) -> bool:
    """Make the submission ready as `player`; return False if this worker lost the build.

    The time is read under the competition's lock, which a freeze also holds. A round therefore has everything that was
    ready when its freeze window began; what is committed after the freeze became ready after it.
    """
    competition = build.submission.repository.track.competition_id
    with transaction.atomic():
        # lock order: competition before submission; not the repository, whose team could block the competition with it
        Competition.objects.select_for_update(no_key=True).get(pk=competition)
        submission = _held(build)
        if submission is None:
            return False
        now = _finish(build, READY, checks)
        _move(submission, Submission.State.READY, player=player, state_since=clock.database_now())
        label_player(player.pk)
        event_log.record("ready", submission, player=player.pk, attempt=build.attempt)
        format_of(submission).ready(submission)
        _charge(build, now)
    return True


def refuse(build: Build, reason: str, problem: str, fix: str, checks: Sequence[dict[str, Any]] = ()) -> bool:
    """Refuse the submission for a user error; return False if this worker lost the build."""
    with _locked(build) as submission:
        if submission is None:
            return False
        now = _finish(build, reason, checks)
        _refuse(submission, Submission.Cause.TEAM, reason, problem, fix)
        _charge(build, now)
    return True


def release_claim(build: Build, outcome: str, detail: str = "") -> bool:
    """Finish the build without a result; refuse the submission after `MAX_FAULTS` faults in a row, else retry it.

    Return False if this worker lost the build. `detail` is not shown to the team.
    """
    with _locked(build) as submission:
        if submission is None:
            return False
        _finish(build, outcome)
        if outcome != STOPPED:
            event_log.record("fault", submission, reason=outcome, attempt=build.attempt, detail=detail)
        attempts = attempts_of(submission)
        if outcome in PLATFORM_FAULTS and is_given_up(attempts):
            _give_up(submission, f"Platform error: {MAX_FAULTS} attempts to build or check this submission failed.")
            return True
        _move(submission, Submission.State.RECEIVED, deadline=clock.database_now() + state_timeouts.RECEIVED)
        if pause_after(attempts) is None:
            notify("submissions.build", submission=submission.pk)
    return True


def expire() -> int:
    """Return the submissions of builders without a heartbeat to the queue, each with a fault; return how many."""
    expired = 0
    for build in Build.expired():
        with _isolated(build):
            expired += _lost(build)
    return expired


def stop(submission: Submission) -> None:
    """Finish the build of a submission that is being withdrawn. Last in its transaction, which locks the submission.

    The worker finds the claim lost.
    """
    build = submission.builds.filter(finished_at=None).first()
    if build is not None:
        _charge(build, _finish(build, WITHDRAWN))


def sweep() -> None:
    """Handle overdue states and waiting submissions, from the database alone.

    Those that wait in an archived competition wait on.
    """
    now = clock.database_now()
    archived = Q(state=Submission.State.RECEIVED, repository__track__competition__archived_at__isnull=False)
    late = Submission.objects.filter(state__in=Submission.UNDER_WAY, deadline__lt=now).exclude(archived)
    for submission in late:
        with _isolated(submission):
            _overdue(submission, now)
    waiting = Submission.objects.filter(state=Submission.State.RECEIVED, state_since__lte=now - NOTIFY_AGAIN)
    free = waiting.exclude(archived).exclude(pk__in=paused_submissions(now)).order_by("state_since")
    for submission in free[:NOTIFIED_AT_ONCE]:
        notify("submissions.build", submission=submission.pk)


@contextmanager
def _isolated(row: Build | Submission) -> Iterator[None]:
    """Log an exception instead of stopping the sweep; the next sweep tries again."""
    try:
        yield
    except Exception as error:
        platform_error_report.report(log, error, "%s cannot be swept now", row)


def _lost(build: Build) -> bool:
    with _locked(build):
        # locked too: its worker either renewed the lease before, or finds that it lost the build
        if build.held_but_expired().select_for_update().first() is None:
            return False
        return release_claim(build, LOST, f"the lease of {build.worker} expired")


def _overdue(submission: Submission, now: datetime) -> None:
    build = submission.builds.filter(finished_at=None).last()
    if build is not None:
        with _locked(build) as current:
            # read again: a builder may have claimed it, or begun its checks, since the sweep found it
            if current is not None and current.deadline is not None and current.deadline < now:
                release_claim(build, OVERDUE, f"{current.state} since {in_words(current.state_since)}")
        return
    with transaction.atomic():
        quota_ledger.lock(submission.repository)
        waiting = Submission.objects.filter(pk=submission.pk, state=Submission.State.RECEIVED, deadline__lt=now)
        # it stays in the queue: rejected, it would have to wait again from the end
        if not waiting.update(deadline=now + state_timeouts.RECEIVED, overdue_at=now):
            return
        quota_ledger.refund(submission=submission, reason=quota_ledger.OVERDUE)
        event_log.record("overdue", submission, since=submission.state_since.isoformat())
    log.error("%s has waited since %s: start more builders", submission, in_words(submission.state_since))


@contextmanager
def _locked(build: Build) -> Iterator[Submission | None]:
    """Yield the submission, locked for the block's transaction; None if `build` no longer decides on it."""
    with transaction.atomic():
        # lock order: the repository first, as in all quota decisions
        quota_ledger.lock(build.submission.repository)
        yield _held(build)


def _held(build: Build) -> Submission | None:
    submission = Submission.objects.select_for_update().get(pk=build.submission_id)
    return submission if build.held().exists() else None


def _finish(build: Build, outcome: str, checks: Sequence[dict[str, Any]] = ()) -> datetime:
    """Finish a build that is held under the submission's lock; return the time."""
    now = clock.database_now()
    build.release(finished_at=now, outcome=outcome, checks=list(checks))
    return now


def _charge(build: Build, ended_at: datetime) -> None:
    """Count a build that ended without a platform error against its team's share. Last in its transaction."""
    entry = build.submission.repository.entry_id
    charge(Held(Priority.BOARD, entry, build.started_at), ended_at, BUILD)


def _move(submission: Submission, state: Submission.State, **values: Any) -> None:
    changes = {"deadline": None, "state_since": clock.database_now()} | values | {"state": state}
    for name, value in changes.items():
        setattr(submission, name, value)
    submission.save(update_fields=list(changes))


def _give_up(submission: Submission, problem: str) -> None:
    if quota_ledger.refunds_platform_error(submission):
        fix = "This does not count against your quota. Submit it again later, or ask an organiser to retry it."
    else:
        fix = (
            f"More than {REFUNDED_FAULTS} platform errors in 24 hours: an organiser must confirm the refund of the "
            "slot. Ask the organisers."
        )
    _refuse(submission, Submission.Cause.PLATFORM, FAULT, problem, fix)


def _refuse(submission: Submission, cause: Submission.Cause, reason: str, problem: str, fix: str) -> None:
    _move(submission, Submission.State.REJECTED, cause=cause, reason=reason, problem=problem, fix=fix)
    quota_ledger.settle_refusal(submission)
    event_log.record("refuse", submission, reason=reason, cause=cause)
