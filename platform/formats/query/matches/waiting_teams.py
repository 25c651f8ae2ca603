"""Order of the pieces in the queue: which teams wait, and what workers hold."""

from __future__ import annotations

from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery

from competitions.models import Entry
from formats.query.matches.models import Piece
from workers.models import Priority
from workers.work_kind_interface import Held, Turn

IN_ORDER = ("entry_id", "queued_at", "match_id", "number")
"""Order of the pieces of one priority and team, as in the index: sorting would read all waiting pieces."""


def waiting_turns(pieces: QuerySet[Piece], now: datetime) -> list[Turn]:
    """Return the teams with some of `pieces` (which may be claimed).

    Takes one index probe per team, however many pieces wait.
    """
    board = pieces.filter(priority=Priority.BOARD).order_by(*IN_ORDER)
    own = board.filter(entry=OuterRef("pk")).values("queued_at")[:1]
    firsts: list[tuple[Priority, int | None, datetime | None]] = [
        (Priority.BOARD, *row)
        for row in Entry.objects.filter(competition__archived_at=None).order_by().values_list("pk", Subquery(own))
    ]
    of_rounds = pieces.filter(priority=Priority.ROUND).order_by(*IN_ORDER)
    for priority, of_nobody in ((Priority.ROUND, of_rounds), (Priority.BOARD, board.filter(entry=None))):
        firsts.append((priority, None, of_nobody.values_list("queued_at", flat=True).first()))
    return [
        Turn(priority, entry, queued_at, low_priority=queued_at > now)
        for priority, entry, queued_at in firsts
        if queued_at is not None
    ]


def share_of(piece: Piece) -> Held:
    """Return whose share of the workers a claimed piece uses, and since when."""
    return Held(piece.priority, piece.entry_id, piece.claimed_at)


def held_matches() -> set[int]:
    """Return the matches that workers play now."""
    return set(Piece.objects.filter(state=Piece.State.CLAIMED).order_by().values_list("match", flat=True).distinct())
