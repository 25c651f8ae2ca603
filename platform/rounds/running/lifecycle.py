"""Start, pause, resume and cancel a round. Each other act has a module of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from competitions.freeze_windows import call_off_window
from competitions.permissions import require
from core import clock, worker_notifications
from core.roles import Right
from rounds.formats import format_of
from rounds.models import Round
from rounds.running.transitions import lock_competition, locked, move, require_possible, require_reason

if TYPE_CHECKING:
    from accounts.models import User


def start(*, round_: Round, by: User, reason: str = "") -> None:
    """Start a frozen round. Raise `Refusal`."""
    require(by, round_.competition, Right.RUN)
    with transaction.atomic():
        current = locked(round_)
        move(current, "start", by=by, reason=reason)
        format_of(current).start(current)
        worker_notifications.notify("rounds.advance")
    round_.refresh_from_db()


def pause(*, round_: Round, by: User, reason: str = "") -> None:
    """Pause a round: nothing new starts; what is running finishes. Raise `Refusal`."""
    require(by, round_.competition, Right.RUN)
    with transaction.atomic():
        current = locked(round_)
        require_possible(current, "pause")
        format_of(current).suspend(current)
        move(current, "pause", by=by, reason=reason)
    round_.refresh_from_db()


def resume(*, round_: Round, by: User, reason: str = "") -> None:
    """Resume a paused round. Raise `Refusal`."""
    require(by, round_.competition, Right.RUN)
    with transaction.atomic():
        current = locked(round_)
        require_possible(current, "resume")
        format_of(current).resume(current)
        move(current, "resume", by=by, reason=reason)
        worker_notifications.notify("rounds.advance")
    round_.refresh_from_db()


def cancel(*, round_: Round, by: User, reason: str) -> None:
    """Cancel an unpublished round permanently, with its freeze window.

    Played matches are kept but do not count. Raise `Refusal`, also without a reason.
    """
    require(by, round_.competition, Right.RUN)
    reason = require_reason(reason, "a cancellation")
    with transaction.atomic():
        lock_competition(round_)
        current = locked(round_)
        require_possible(current, "cancel")
        format_of(current).cancel(current)
        if clock.database_now() < current.window.ends_at:
            call_off_window(window=current.window, by=by, reason=reason)
        move(current, "cancel", by=by, reason=reason)
    round_.refresh_from_db()
