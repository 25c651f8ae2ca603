"""Tasks of the leaderboards. The sweep finds work from the database alone, so lost notifications cost only time."""

from __future__ import annotations

import fcntl
import logging
import time
from dataclasses import dataclass

from celery import shared_task
from django.conf import settings

from competitions.models import Track
from core import platform_error_report
from core.errors import GauntletError
from formats.query.leaderboards import scoring, services
from formats.query.leaderboards.evaluation_basis import unevaluated, unrefined
from formats.query.leaderboards.rejudging import settle_rejudgings
from formats.query.leaderboards.scoring import recompute, score_finished
from formats.query.leaderboards.superseded_evaluations import supersede_replaced
from formats.query.leaderboards.withdrawn_evaluations import end_withdrawn
from submissions.models import Submission

log = logging.getLogger(__name__)

MOST_STARTED = 100
"""Evaluations that one sweep starts. A new pool of a competition that measures all teams again has a thousand."""

LOOK_AGAIN_SECONDS = 60.0
"""Least interval at which one process looks for baselines whose image is gone: that reads the pieces that wait."""


@dataclass
class _LastLook:
    """When this process last looked for them, in `time.monotonic()`."""

    at: float | None = None


_last_look = _LastLook()


@shared_task(name="leaderboards.evaluate")  # type: ignore[untyped-decorator]
def evaluate(submission: int) -> None:
    """Start the evaluation of a ready submission, which may be the first opponent of the other side."""
    ready = Submission.objects.select_related("repository__track__competition").get(pk=submission)
    services.fill_first_pool(ready.repository.track)
    services.evaluate(ready)


@shared_task(name="leaderboards.score")  # type: ignore[untyped-decorator]
def score(track: int | None = None) -> None:
    """End withdrawn evaluations, score finished ones, settle rejudgings, and update the leaderboard of `track`."""
    end_withdrawn()
    score_finished()
    settle_rejudgings()
    if track is not None:
        recompute(Track.objects.get(pk=track))


@shared_task(name="leaderboards.refresh_boards")  # type: ignore[untyped-decorator]
def refresh_boards() -> None:
    """Update all leaderboards, in case a `score` notification was lost."""
    scoring.refresh_boards()


@shared_task(name="leaderboards.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Score, start and end all due evaluations; first pools come last, since they may need builds."""
    end_withdrawn()
    score_finished()
    settle_rejudgings()
    supersede_replaced()
    services.retry_evaluation()
    services.fill_first_pools()
    _start_evaluations()
    _make_first_pools()


def _start_evaluations() -> None:
    """Start at most `MOST_STARTED` evaluations: scores and lost work do not wait for more; the next sweep goes on."""
    started = 0
    for submission in list(unevaluated()):
        started += _try_to_evaluate(submission)
        if started == MOST_STARTED:
            return
    # after the others were started: their pieces go first
    if (refined := unrefined()) is not None:
        _try_to_evaluate(refined)


def _try_to_evaluate(submission: Submission) -> bool:
    try:
        return services.evaluate(submission) is not None
    except GauntletError as error:
        platform_error_report.report(log, error, "%s cannot be evaluated", submission)
        return False


def _make_first_pools() -> None:
    """Build in one process of a host, however long it takes; the sweeps of the other processes continue."""
    with (settings.STATE / "first-pools.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        services.make_first_pools()
        now = time.monotonic()
        if _last_look.at is None or now >= _last_look.at + LOOK_AGAIN_SECONDS:
            _last_look.at = now
            services.rebuild_lost_baselines()
