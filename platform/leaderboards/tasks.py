"""What workers do for the leaderboards. The sweep finds from the database alone whatever a lost message leaves."""

from __future__ import annotations

import fcntl
import logging
from datetime import timedelta

from celery import shared_task
from django.conf import settings

from core import clock
from core.errors import GauntletError
from leaderboards import services
from leaderboards.models import Evaluation
from leaderboards.scoring import record_once
from leaderboards.selectors import unmeasured
from submissions.models import Submission

log = logging.getLogger(__name__)

OVERDUE = timedelta(days=7)
"""For so long an evaluation may play before organisers are told."""


@shared_task(name="leaderboards.evaluate")  # type: ignore[untyped-decorator]
def evaluate(submission: int) -> None:
    """Begin the evaluation of a ready submission."""
    services.evaluate(Submission.objects.get(pk=submission))


@shared_task(name="leaderboards.score")  # type: ignore[untyped-decorator]
def score() -> None:
    """Score what is over."""
    services.score_finished()


@shared_task(name="leaderboards.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Score, begin and report whatever is due; the first pools last, since they may have to be built."""
    services.score_finished()
    for submission in list(unmeasured()):
        try:
            services.evaluate(submission)
        except GauntletError:
            log.exception("%s cannot be evaluated", submission)
    _report_overdue()
    _make_first_pools()


def _report_overdue() -> None:
    limit = clock.now() - OVERDUE
    for evaluation in Evaluation.objects.filter(state=Evaluation.State.PLAYING, created_at__lt=limit):
        record_once("overdue", evaluation, problem=f"it has been playing since {evaluation.created_at:%Y-%m-%d %H:%M}")


def _make_first_pools() -> None:
    """One process of a host builds, for as long as it takes; the sweeps of the others go on without."""
    with (settings.STATE / "first-pools.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        services.make_first_pools()
