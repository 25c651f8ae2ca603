"""Tasks of rounds. The sweep finds work from the database alone, so lost notifications cost only time."""

from __future__ import annotations

import logging

from celery import shared_task

from core import platform_error_report
from core.log_formatters import log_ids
from rounds import site_verification
from rounds.formats import format_of
from rounds.models import Round
from rounds.planning.freeze import freeze_due, words
from rounds.release import released_parts
from rounds.running.transitions import record_problem

CONFIRM_SECONDS = 180
"""Time until a difference is checked again: leaderboards follow changes within a minute."""

log = logging.getLogger(__name__)


@shared_task(name="rounds.advance")  # type: ignore[untyped-decorator]
def advance_round() -> None:
    """Take the next step of every running round; one that fails reports its problem and does not block others."""
    for round_ in Round.objects.filter(state=Round.State.PLAYING).select_related("competition").order_by("pk"):
        with log_ids(round=round_.pk):
            try:
                format_of(round_).advance(round_)
            except Exception as error:
                platform_error_report.report(log, error, "%s cannot continue", round_)
                record_problem(round_, words(error))


@shared_task(name="rounds.verify")  # type: ignore[untyped-decorator]
def verify(*, confirm: bool = True) -> None:
    """Log at level CRITICAL everything shown that differs from what it follows from.

    With `confirm`, differences are checked again some minutes later: leaderboards need a moment to follow a new pool.
    """
    differences = [each for each in site_verification.verify().differences if not each.repaired]
    if differences and confirm:
        verify.apply_async(kwargs={"confirm": False}, countdown=CONFIRM_SECONDS)
        return
    for difference in differences:
        log.critical("%s", difference)
    if differences:
        log.critical("%d differences: run `manage.py leaderboards verify --repair`", len(differences))


@shared_task(name="rounds.copy_code")  # type: ignore[untyped-decorator]
def copy_code(*, round: int) -> None:  # noqa: A002 - the key of a message
    """Make the public copies of the code of a released round. A lost message costs the first clones a moment."""
    released_parts.copy_code(Round.objects.get(pk=round))


@shared_task(name="rounds.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Freeze the rounds whose window has begun, and advance the running ones."""
    freeze_due()
    advance_round()
