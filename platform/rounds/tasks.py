"""What workers do for rounds. The sweep finds from the database alone whatever a lost message leaves."""

from __future__ import annotations

import logging

from celery import shared_task

from rounds import services
from rounds.freezing import words
from rounds.models import Round

log = logging.getLogger(__name__)


@shared_task(name="rounds.conduct")  # type: ignore[untyped-decorator]
def conduct() -> None:
    """Take the next step of every round that plays; one that cannot says why, and holds up no other."""
    for round in Round.objects.filter(state=Round.State.PLAYING).select_related("competition").order_by("pk"):
        try:
            services.conduct(round)
        except Exception as error:
            log.exception("%s cannot go on", round)
            services.note_problem(round, words(error))


@shared_task(name="rounds.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Freeze the rounds whose window has begun, and conduct those that play."""
    services.freeze_due()
    conduct()
