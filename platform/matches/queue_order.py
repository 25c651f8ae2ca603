"""Order of the teams in the queue, and their use of the workers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple, TypedDict

from django.conf import settings
from django.db.models import F, OuterRef, Q, QuerySet, Subquery, Sum

from competitions.models import Entry
from matches.models import Piece
from workers.fair_share import DAY, RECENT, Precedence, Use, precedence
from workers.models import WorkerTime


class Held(NamedTuple):
    """A piece that a worker plays now: its team (None for no team's leaderboard), and since when."""

    match: int
    priority: int
    entry: int | None
    since: datetime | None


class _Team(TypedDict):
    """Column values that select the pieces of one team; the entry is None for rejudgings."""

    priority: Piece.Priority
    entry: int | None


class _First(NamedTuple):
    """A team (None for no team) with pieces that may be claimed, and the time at which the first was queued."""

    entry: int | None
    queued_at: datetime


IN_ORDER = ("entry_id", "queued_at", "match_id", "number")
"""Order of the pieces of one priority and team, as in the index: sorting would read all waiting pieces."""


def held_pieces() -> list[Held]:
    """Return the pieces that workers play now; at most one per worker."""
    claimed = Piece.objects.filter(state=Piece.State.CLAIMED).order_by()
    return [Held(*row) for row in claimed.values_list("match_id", "priority", "entry_id", "claimed_at")]


def uses(teams: Collection[int | None], held: Sequence[Held], now: datetime) -> dict[int | None, Use]:
    """Return each team's use of the workers at `now`: committed pieces, and pieces that are played now.

    Whole hours count: "the last hour" is up to two hours, and "the last day" at least 23.
    """
    spent = seconds_spent(teams, now)
    playing = [each for each in held if each.priority == Piece.Priority.BOARD]
    running = Counter(each.entry for each in playing)
    going: defaultdict[int | None, float] = defaultdict(float)
    for each in playing:
        going[each.entry] += _seconds(each.since, now)
    return {
        team: Use(running[team], *(seconds + going[team] for seconds in spent.get(team, (0.0, 0.0)))) for team in teams
    }


def seconds_spent(teams: Collection[int | None], now: datetime) -> dict[int | None, tuple[float, float]]:
    """Return the seconds of committed work of each team that has any in the last hour and day, in whole hours."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    of_them = Q(entry__in=[team for team in teams if team is not None])
    if None in teams:
        of_them |= Q(entry=None)
    rows = WorkerTime.objects.filter(of_them, hour__gt=hour - DAY).order_by().values_list("entry")
    recent = Sum("seconds", filter=Q(hour__gte=hour - RECENT), default=0.0)
    return {entry: (last, day) for entry, last, day in rows.annotate(recent=recent, day=Sum("seconds"))}


def fair_order(pieces: QuerySet[Piece], held: Sequence[Held], now: datetime) -> list[_Team]:
    """Return the teams with some of `pieces` (which may be claimed) in the order in which they are served.

    Takes one index probe per team, however many pieces wait. `held` as returned by `held_pieces`.
    """
    board = pieces.filter(priority=Piece.Priority.BOARD).order_by(*IN_ORDER)
    own = board.filter(entry=OuterRef("pk")).values("queued_at")[:1]
    entries = Entry.objects.order_by().values_list("pk", Subquery(own))
    firsts = [_First(entry, queued_at) for entry, queued_at in entries if queued_at is not None]
    of_nobody = board.filter(entry=None).values_list("queued_at", flat=True).first()
    if of_nobody is not None:
        firsts.append(_First(None, of_nobody))
    used = uses([first.entry for first in firsts], held, now)

    def place(first: _First) -> tuple[Precedence, datetime]:
        limit = settings.TEAM_WORKER_SECONDS if first.entry is not None else float("inf")
        return precedence(used[first.entry], limit=limit, low_priority=first.queued_at > now), first.queued_at

    return [_Team(priority=Piece.Priority.BOARD, entry=first.entry) for first in sorted(firsts, key=place)]


def charge(entry: Entry | None, seconds: float, now: datetime) -> None:
    """Count seconds of a committed piece or run of a leaderboard. Last in its transaction, to lock the row briefly."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    spent, _ = WorkerTime.objects.get_or_create(entry=entry, hour=hour)
    WorkerTime.objects.filter(pk=spent.pk).update(seconds=F("seconds") + seconds)


def charge_piece(piece: Piece, now: datetime) -> None:
    """Count the time from the claim to the commit of `piece` of a leaderboard."""
    if piece.priority == Piece.Priority.BOARD:
        charge(piece.entry, _seconds(piece.claimed_at, now), now)


def over_limit(entries: Collection[int | None], now: datetime) -> set[int | None]:
    """Return the teams that used more than their daily share of the workers: others are served first."""
    teams = set(entries) - {None}
    return {team for team, use in uses(teams, held_pieces(), now).items() if use.day >= settings.TEAM_WORKER_SECONDS}


def _seconds(since: datetime | None, until: datetime) -> float:
    return max(0.0, (until - since).total_seconds()) if since else 0.0
