"""The end of an objection, once: the organisers answer it, or the team withdraws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from competitions.permissions import require
from core import clock, event_log
from core.errors import RefusedInState
from core.roles import Right
from rounds.models import Objection
from rounds.running.transitions import require_reason

if TYPE_CHECKING:
    from accounts.models import User


def answer(*, objection: Objection, upheld: bool, by: User, reason: str) -> None:
    """Uphold or reject an open objection, as an organiser, also after the period. The reason is public.

    The result does not change: the reason says what follows. Raise `Refusal`, also without a reason.
    """
    require(by, objection.round.competition, Right.JUDGE)
    reason = require_reason(reason, "an answer")
    with transaction.atomic():
        close(objection, Objection.State.UPHELD if upheld else Objection.State.REJECTED, by, reason)
        event_log.record("uphold" if upheld else "reject", objection, by=by, reason=reason, round=objection.round_id)


def close(objection: Objection, state: Objection.State, by: User, text: str = "") -> None:
    """Close an open objection. Raise `Refusal` if somebody has closed it before."""
    still_open = Objection.objects.filter(pk=objection.pk, state=Objection.State.OPEN)
    if not still_open.update(state=state, answer=text, closed_at=clock.database_now(), closed_by=by):
        objection.refresh_from_db()
        raise RefusedInState(
            f"objection {objection.pk} is already {objection.get_state_display()}",
            state=objection.state,
            fix="no action is possible any more",
        )
    objection.refresh_from_db()
