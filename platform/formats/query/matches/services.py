"""Services of matches: suspend, resume, cancel and replay them."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import User
from core import clock, event_log, worker_notifications
from core.errors import Refusal
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_queue import OPEN_MATCH, finish_played
from workers.work_item_queue import requeue_failed


def suspend(matches: QuerySet[Match]) -> int:
    """Suspend open matches: workers claim no further pieces; a claimed piece is still committed. Return how many.

    Failed matches stay failed, and are suspended when they are replayed. The caller of `suspend`, `resume` and `cancel`
    records the reason in the event log.
    """
    with transaction.atomic():
        rows = Match.objects.filter(pk__in=_locked(matches, [*OPEN_MATCH, Match.State.FAILED]))
        rows.filter(state=Match.State.FAILED).update(suspended_when_replayed=True)
        return rows.filter(state__in=OPEN_MATCH).update(state=Match.State.SUSPENDED)


def resume(matches: QuerySet[Match]) -> int:
    """Resume suspended matches, or finish them if all their pieces were played meanwhile; return how many."""
    begun = Exists(Piece.objects.filter(match=OuterRef("pk")).exclude(state=Piece.State.WAITING))
    with transaction.atomic():
        keys = _locked(matches, [Match.State.SUSPENDED, Match.State.FAILED])
        rows = Match.objects.filter(pk__in=keys)
        rows.filter(state=Match.State.FAILED).update(suspended_when_replayed=False)
        held = rows.filter(state=Match.State.SUSPENDED)
        played_on = held.filter(begun).update(state=Match.State.PLAYING) + held.update(state=Match.State.WAITING)
        finish_played(among=keys)
        worker_notifications.notify("workers.play")
    return played_on


def cancel(matches: QuerySet[Match]) -> int:
    """Cancel unfinished matches; return how many. Played pieces are kept: a new request continues the match."""
    unfinished = [*OPEN_MATCH, Match.State.SUSPENDED, Match.State.FAILED]
    with transaction.atomic():
        return Match.objects.filter(pk__in=_locked(matches, unfinished)).update(
            state=Match.State.CANCELLED, finished_at=clock.database_now()
        )


def _locked(matches: QuerySet[Match], states: list[Match.State]) -> list[int]:
    """Lock the matches in one of `states` in the common order; return their keys."""
    chosen = Match.objects.filter(pk__in=matches.order_by().values("pk"), state__in=states)
    return list(chosen.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))


def replay_failed(match: Match, by: User | None, reason: str = "") -> None:
    """Play the failed pieces of a failed match again; played ones are kept. Raise `Refusal` for any other match.

    A suspended match waits until it is resumed.
    """
    with transaction.atomic():
        # locked: otherwise a piece that is given up concurrently is missed, and its match stays open
        locked = Match.objects.select_for_update(no_key=True).get(pk=match.pk)
        if locked.state != Match.State.FAILED:
            raise Refusal(f"{match} has not failed", fix="choose a failed match; only these can be replayed")
        begun = Match.State.PLAYING if locked.pieces.filter(state=Piece.State.PLAYED).exists() else Match.State.WAITING
        state = Match.State.SUSPENDED if locked.suspended_when_replayed else begun
        Match.objects.filter(pk=match.pk).update(state=state, suspended_when_replayed=False, fault="", finished_at=None)
        requeue_failed(locked.pieces.all())
        finish_played(among=[match.pk])  # nothing but the audit may be left
        event_log.record("replay", match, by=by, reason=reason, fault=locked.fault)
        worker_notifications.notify("workers.play")
    match.refresh_from_db()
