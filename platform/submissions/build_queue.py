"""The tries to build a submission: who holds one, until when, and what becomes of the submission at its end.

A worker holds its `Build` while `finished_at` is empty. Whoever finishes it, by one conditional UPDATE, decides what
follows; everybody else may write nothing more.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from django.db import transaction

from competitions.models import Competition
from core import clock, events, faults
from core.notify import notify
from core.times import in_words
from submissions import player_builds, quota_ledger, timeouts
from submissions.models import Build, Player, Submission
from submissions.quota_rules import REFUNDED_FAULTS

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=60)
"""How long a worker that does not renew its lease is believed to live; its worker renews it every 10 s."""
BUILD_MARGIN = timedelta(minutes=10)
"""What a build may take beyond its builder's limit: the checkout, a busy engine."""
MAX_FAULTS = 3
"""So many faults of ours in a row end a submission's way: something is wrong that a person must mend."""
NOTIFY_AGAIN = timedelta(seconds=30)
"""How long a submission waits before it is rung for again, after a ring that was lost or a fault."""
NOTIFIED_AT_ONCE = 4
"""Few: a queue that is only long needs no further messages."""

READY, LOST, OVERDUE, FAULT, WITHDRAWN = "ready", "lost", "overdue", "fault", "withdrawn"
"""How a build ends, beside the reason of a refusal."""
HOST = "host"
"""It failed on a host that then failed a check of itself: nothing that the submission must be given up for."""
PLATFORM_FAULTS = frozenset({LOST, OVERDUE, FAULT})

_AT_WORK = (Submission.State.BUILDING, Submission.State.CHECKING)


def claim(submission_id: int, worker: str) -> Build | None:
    """Take a submission that was received, for the lease; None where another worker did or it was withdrawn."""
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
            lease_until=now + LEASE,
        )


def hold(build: Build) -> bool:
    """Renew the lease on `build`; False where it is not ours any more, or its submission was withdrawn."""
    held = Build.objects.filter(pk=build.pk, finished_at=None, submission__state__in=_AT_WORK)
    return held.update(lease_until=clock.database_now() + LEASE) == 1


def begin_checks(build: Build, limit: timedelta) -> bool:
    """From building to checking; False where the build is not ours any more."""
    with _locked(build) as submission:
        if submission is None:
            return False
        Build.objects.filter(pk=build.pk).update(checks_began_at=clock.database_now())
        _move(submission, Submission.State.CHECKING, deadline=clock.database_now() + limit)
    return True


def succeed(build: Build, player: Player, checks: Sequence[dict[str, Any]]) -> bool:
    """The submission is ready as `player`; False where the build is not ours any more.

    Since when it is ready is read under the competition's lock, which a freeze holds too: a round has everything that
    was ready when its window began, and what is committed after the freeze became ready after it.
    """
    competition = build.submission.repository.track.competition_id
    with transaction.atomic():
        # before the submission, as everybody locks; not the repository, as its team could hold up the competition by it
        Competition.objects.select_for_update(no_key=True).get(pk=competition)
        submission = _held(build)
        if submission is None:
            return False
        _finish(build, READY, checks)
        _move(submission, Submission.State.READY, player=player, state_since=clock.database_now())
        events.record("ready", submission, player=player.pk, attempt=build.attempt)
        notify("leaderboards.evaluate", submission=submission.pk)
    return True


def refuse(build: Build, reason: str, problem: str, fix: str, checks: Sequence[dict[str, Any]] = ()) -> bool:
    """The submission is refused for what its team sent; False where the build is not ours any more."""
    with _locked(build) as submission:
        if submission is None:
            return False
        _finish(build, reason, checks)
        _refuse(submission, Submission.Cause.TEAM, reason, problem, fix)
    return True


def release_claim(build: Build, outcome: str, detail: str) -> None:
    """Something of ours failed: another attempt, or the end after `MAX_FAULTS` in a row. `detail` is for us alone."""
    with _locked(build) as submission:
        if submission is None:
            return
        _finish(build, outcome)
        events.record("fault", submission, reason=outcome, attempt=build.attempt, detail=detail)
        if outcome != HOST and _faults_in_a_row(submission) % MAX_FAULTS == 0:
            _give_up(submission, f"Something of ours failed {MAX_FAULTS} times while this was built or checked.")
            return
        _move(submission, Submission.State.RECEIVED, deadline=clock.database_now() + timeouts.RECEIVED)
        if outcome == LOST:  # after a fault, a pause: what failed at once would fail at once again
            notify("submissions.build", submission=submission.pk)


def leave(build: Build) -> None:
    """The submission was withdrawn, or another worker has it: the build ends without a trace on it."""
    _finish(build, WITHDRAWN)


def sweep() -> None:
    """Find from the database alone what is due: lost workers, overdue states, submissions that nobody took up."""
    now = clock.database_now()
    for build in Build.objects.filter(finished_at=None, lease_until__lt=now):
        with _apart(build):
            _lost(build, now)
    for submission in Submission.objects.filter(state__in=Submission.UNDER_WAY, deadline__lt=now):
        with _apart(submission):
            _overdue(submission, now)
    waiting = Submission.objects.filter(state=Submission.State.RECEIVED, state_since__lte=now - NOTIFY_AGAIN)
    for submission in waiting.order_by("state_since")[:NOTIFIED_AT_ONCE]:
        notify("submissions.build", submission=submission.pk)


@contextmanager
def _apart(row: Build | Submission) -> Iterator[None]:
    """What goes wrong with one row stops none of those behind it; the next sweep meets it again."""
    try:
        yield
    except Exception as error:
        faults.report(log, error, "%s cannot be swept now", row)


def _lost(build: Build, now: datetime) -> None:
    with _locked(build) as submission:
        # locked too, so that its worker either renewed the lease before this look, or finds that it lost the build
        expired = Build.objects.select_for_update().filter(pk=build.pk, finished_at=None, lease_until__lt=now)
        if expired.first() is None:
            return
        if submission is None:  # it was withdrawn
            leave(build)
        else:
            release_claim(build, LOST, f"the lease of {build.worker} ran out")


def _overdue(submission: Submission, now: datetime) -> None:
    build = submission.builds.filter(finished_at=None).last()
    if build is not None:
        release_claim(build, OVERDUE, f"{submission.state} since {in_words(submission.state_since)}")
        return
    with transaction.atomic():
        quota_ledger.lock(submission.repository)
        waiting = Submission.objects.filter(pk=submission.pk, state=Submission.State.RECEIVED, deadline__lt=now)
        # it stays in the queue: refused, it would wait once more from the end
        if not waiting.update(deadline=now + timeouts.RECEIVED):
            return
        quota_ledger.refund(submission=submission, reason=quota_ledger.OVERDUE)
        events.record("overdue", submission, since=submission.state_since.isoformat())
    log.error("%s has waited since %s: builders are missing", submission, submission.state_since)


@contextmanager
def _locked(build: Build) -> Iterator[Submission | None]:
    """The submission, locked until the end of the block's transaction; None where `build` no longer decides on it."""
    with transaction.atomic():
        # the repository first, as everybody does who decides on its quota
        quota_ledger.lock(build.submission.repository)
        yield _held(build)


def _held(build: Build) -> Submission | None:
    submission = Submission.objects.select_for_update().get(pk=build.submission_id)
    ours = Build.objects.filter(pk=build.pk, finished_at=None).exists()
    return submission if ours and submission.state in _AT_WORK else None


def _finish(build: Build, outcome: str, checks: Sequence[dict[str, Any]] = ()) -> None:
    held = Build.objects.filter(pk=build.pk, finished_at=None)
    held.update(finished_at=clock.database_now(), lease_until=None, outcome=outcome, checks=list(checks))


def _move(submission: Submission, state: Submission.State, **values: Any) -> None:
    changes = {"deadline": None, "state_since": clock.database_now()} | values | {"state": state}
    for name, value in changes.items():
        setattr(submission, name, value)
    submission.save(update_fields=list(changes))


def _give_up(submission: Submission, problem: str) -> None:
    if quota_ledger.refunds_platform_error(submission):
        fix = "It cost no slot. Submit it again later; the organisers can see what happened, and can retry it."
    else:
        fix = (
            f"More than {REFUNDED_FAULTS} platform errors in 24 hours, so an organiser decides whether its slot "
            "is given back. Ask the organisers; they can see what happened."
        )
    _refuse(submission, Submission.Cause.PLATFORM, FAULT, problem, fix)


def _refuse(submission: Submission, cause: Submission.Cause, reason: str, problem: str, fix: str) -> None:
    _move(submission, Submission.State.REFUSED, cause=cause, reason=reason, problem=problem, fix=fix)
    quota_ledger.settle_refusal(submission)
    events.record("refuse", submission, reason=reason, cause=cause)


def _faults_in_a_row(submission: Submission) -> int:
    outcomes = submission.builds.exclude(outcome=HOST).order_by("-attempt").values_list("outcome", flat=True)
    return sum(1 for _ in takewhile(PLATFORM_FAULTS.__contains__, outcomes))
