"""What workers do for rounds. The sweep finds from the database alone whatever a lost message leaves."""

from __future__ import annotations

import logging

from celery import shared_task

from core import faults
from core.logs import log_ids
from rounds import services
from rounds.freeze import words
from rounds.models import Round

CONFIRM_SECONDS = 180
"""When a difference is looked at once more: boards follow what changed within a minute."""

log = logging.getLogger(__name__)


@shared_task(name="rounds.advance")  # type: ignore[untyped-decorator]
def advance_round() -> None:
    """Take the next step of every round that plays; one that cannot says why, and holds up no other."""
    for round_ in Round.objects.filter(state=Round.State.PLAYING).select_related("competition").order_by("pk"):
        with log_ids(round=round_.pk):
            try:
                services.advance_round(round_)
            except Exception as error:
                faults.report(log, error, "%s cannot go on", round_)
                services.record_problem(round_, words(error))


@shared_task(name="rounds.verify")  # type: ignore[untyped-decorator]
def verify(*, confirm: bool = True) -> None:
    """Log at the level CRITICAL everything shown that is not what it follows from.

    What differs only until the boards follow a new pool is gone at a second look (`confirm`), some minutes later.
    """
    differences = [each for each in services.verify().differences if not each.repaired]
    if differences and confirm:
        verify.apply_async(kwargs={"confirm": False}, countdown=CONFIRM_SECONDS)
        return
    for difference in differences:
        log.critical("%s", difference)
    if differences:
        log.critical("%d differences: see `manage.py leaderboards verify --repair`", len(differences))


@shared_task(name="rounds.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Freeze the rounds whose window has begun, and conduct those that play."""
    services.freeze_due()
    advance_round()
