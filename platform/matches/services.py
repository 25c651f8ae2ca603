"""Ask for matches, hold and cancel them, have failed ones played again, and note the workers that play."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import User
from core import clock, events, notify
from core.errors import Refusal
from matches.models import Match, Piece, Worker
from matches.queue import OPEN_MATCH, finish_played
from matches.scheduling import ensure_match, request_matches
from matches.seeds import match_seed

__all__ = [
    "cancel",
    "ensure_match",
    "match_seed",
    "record_sign_of_life",
    "record_worker",
    "replay_failed",
    "request_matches",
    "resume",
    "suspend",
]


def suspend(matches: QuerySet[Match]) -> int:
    """Let nobody take up further pieces of those that are open; how many. A piece in hand is committed as ever.

    Those that have failed stay so, and are held as soon as they are replayed. Whoever holds, lets go or cancels notes
    in the event log why.
    """
    with transaction.atomic():
        rows = Match.objects.filter(pk__in=_locked(matches, [*OPEN_MATCH, Match.State.FAILED]))
        rows.filter(state=Match.State.FAILED).update(suspended_when_replayed=True)
        return rows.filter(state__in=OPEN_MATCH).update(state=Match.State.SUSPENDED)


def resume(matches: QuerySet[Match]) -> int:
    """Have those that are held played on, or end them where all of their pieces were played meanwhile; how many."""
    begun = Exists(Piece.objects.filter(match=OuterRef("pk")).exclude(state=Piece.State.WAITING))
    with transaction.atomic():
        keys = _locked(matches, [Match.State.SUSPENDED, Match.State.FAILED])
        rows = Match.objects.filter(pk__in=keys)
        rows.filter(state=Match.State.FAILED).update(suspended_when_replayed=False)
        held = rows.filter(state=Match.State.SUSPENDED)
        played_on = held.filter(begun).update(state=Match.State.PLAYING) + held.update(state=Match.State.WAITING)
        finish_played(among=keys)
        notify.notify("matches.play")
    return played_on


def cancel(matches: QuerySet[Match]) -> int:
    """Give up those that are not played to their end; how many. What is played of them stays, and who asks for one
    again has it played on."""
    unfinished = [*OPEN_MATCH, Match.State.SUSPENDED, Match.State.FAILED]
    with transaction.atomic():
        return Match.objects.filter(pk__in=_locked(matches, unfinished)).update(
            state=Match.State.CANCELLED, finished_at=clock.database_now()
        )


def _locked(matches: QuerySet[Match], states: list[Match.State]) -> list[int]:
    """Keys of those in one of `states`, locked in the order in which everybody locks several."""
    chosen = Match.objects.filter(pk__in=matches.order_by().values("pk"), state__in=states)
    return list(chosen.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))


def replay_failed(match: Match, by: User | None, reason: str = "") -> None:
    """Have the failed pieces of a failed match played again; what is played stays. One that is held waits until it is
    let go. Raises `Refusal` for any other."""
    with transaction.atomic():
        # locked, or a piece that is given up this very moment would be missed, and its match stay open for ever
        locked = Match.objects.select_for_update(no_key=True).get(pk=match.pk)
        if locked.state != Match.State.FAILED:
            raise Refusal(f"{match} has not failed", fix="only a failed match can be replayed")
        begun = Match.State.PLAYING if locked.pieces.filter(state=Piece.State.PLAYED).exists() else Match.State.WAITING
        state = Match.State.SUSPENDED if locked.suspended_when_replayed else begun
        Match.objects.filter(pk=match.pk).update(state=state, suspended_when_replayed=False, fault="", finished_at=None)
        locked.pieces.filter(state=Piece.State.FAILED).update(state=Piece.State.WAITING, faults=0, lease_until=None)
        events.record("replay", match, by=by, reason=reason, fault=locked.fault)
        notify.notify("matches.play")
    match.refresh_from_db()


def record_worker(*, name: str, worker_class: str, device: str, calibration: float, started_at: datetime) -> Worker:
    """The row of a worker process that plays now, made or brought up to date."""
    seen_at, skew = clock.compare()
    worker, _ = Worker.objects.update_or_create(
        name=name,
        defaults={
            "worker_class": worker_class,
            "device": device,
            "calibration": calibration,
            "started_at": started_at,
            "last_seen_at": seen_at,
            "clock_skew": skew,
        },
    )
    return worker


def record_sign_of_life(worker: Worker) -> datetime:
    """A worker process gives a sign of life, and tells how far its host's clock is off; when, by the database's."""
    seen_at, skew = clock.compare()
    Worker.objects.filter(pk=worker.pk).update(last_seen_at=seen_at, clock_skew=skew)
    return seen_at
