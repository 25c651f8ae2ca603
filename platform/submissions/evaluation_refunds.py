"""Refunds of submissions that are ready and have no score: work was given up, or nobody played it in time.

They stay in the queue, and a score that follows later does not take the slot back.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet

from core import clock, event_log
from submissions import quota_ledger
from submissions.extension_points import waiting_for_score
from submissions.models import Submission

log = logging.getLogger(__name__)

OVERDUE = timedelta(days=7)
"""An evaluation that takes longer lacks workers, or an organiser who replays what was given up."""


def refund_given_up(submissions: QuerySet[Submission]) -> None:
    """Refund the slots of submissions whose score waits for work that was given up, in the caller's transaction.

    The operators know: they get an error for each item that is given up.
    """
    for submission in submissions.order_by("pk"):
        Submission.objects.filter(pk=submission.pk).update(evaluation_fault_at=clock.database_now())
        quota_ledger.refund(submission=submission, reason=quota_ledger.FAULT)


def refund_overdue() -> int:
    """Refund the slots of ready submissions that wait longer than `OVERDUE` for their score; return how many waits.

    They continue: if their evaluations were ended, they would lose their place in the queue.
    """
    now = clock.database_now()
    return sum(
        _note_overdue(submission, since, now)
        for waiting in waiting_for_score.answers()
        for submission, since in _overdue(waiting, now)
    )


def _overdue(waiting: QuerySet[Any], now: datetime) -> list[tuple[Submission, datetime]]:
    late = waiting.filter(
        Q(overdue_at=None) | Q(overdue_at__lt=F("waiting_since")),
        state=Submission.State.READY,
        waiting_since__lt=now - OVERDUE,
        repository__track__competition__archived_at=None,
    )
    since = dict(late.order_by("pk").values_list("pk", "waiting_since"))
    found = Submission.objects.in_bulk(since)
    return [(found[key], at) for key, at in since.items()]


def _note_overdue(submission: Submission, since: datetime, now: datetime) -> bool:
    with transaction.atomic():
        # again, since the sweep of another process may have found it, too
        unknown = Submission.objects.filter(Q(overdue_at=None) | Q(overdue_at__lt=since), pk=submission.pk)
        if not unknown.update(overdue_at=now):
            return False
        quota_ledger.refund(submission=submission, reason=quota_ledger.OVERDUE)
        event_log.record("overdue", submission, since=since.isoformat())
    log.error("%s was not played within %d days: workers are missing, or work was given up", submission, OVERDUE.days)
    return True
