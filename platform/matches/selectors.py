"""What is known of matches: how far they are, what stands before them, and who plays."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Prefetch, Q, QuerySet

from competitions.models import SampleSet
from core import clock
from matches.models import Match, Piece, Worker
from matches.queue_order import over_limit
from submissions.selectors import hosts_out_of_service

SIGN_OF_LIFE = timedelta(seconds=60)
"""A worker that was not seen for so long does not count as live."""

LEFT = timedelta(hours=1)
"""A worker that was not seen for so long is not called any more."""

MOST_SKEW = 3.0
"""A host whose clock is further off the database's, in seconds, should be looked at; it decides nothing."""

RECENT_PIECES = 50
"""How many pieces the estimate of a piece's seconds is drawn from."""

OPEN_PIECES = Q(
    state__in=[Piece.State.WAITING, Piece.State.CLAIMED],
    match__state__in=[Match.State.WAITING, Match.State.PLAYING],
)
"""The pieces that are still to be played."""


@dataclass(frozen=True)
class Progress:
    """How far some matches are."""

    pieces_played: int
    pieces: int


@dataclass(frozen=True)
class QueuePlace:
    """What stands before some matches: pieces that are played earlier, and seconds until their own last piece is.

    Both are estimates; `seconds` is None where nothing is known to draw it from: no piece played yet, no live worker,
    or held.
    """

    pieces_ahead: int
    seconds: float | None
    over_limit: bool = False
    """Whether the team used more of the workers in a day than its share, so that it comes after the others."""


@dataclass(frozen=True)
class WorkerStatus:
    """A worker, whether it was seen lately, the pieces it holds (with their matches), and whether its host plays."""

    worker: Worker
    live: bool
    holds: tuple[Piece, ...]
    out_of_service: bool

    @property
    def clock_is_off(self) -> bool:
        """Whether the clock of its host is further off the database's than an NTP server lets it be."""
        return self.live and abs(self.worker.clock_skew) > MOST_SKEW


def progress(matches: Iterable[Match]) -> Progress:
    """How many pieces of `matches` are played, of how many."""
    counts = Piece.objects.filter(match__in=_keys(matches)).aggregate(
        pieces=Count("pk"), played=Count("pk", filter=Q(state=Piece.State.PLAYED))
    )
    return Progress(pieces_played=counts["played"], pieces=counts["pieces"])


def queue_of(matches: Iterable[Match]) -> QueuePlace:
    """Where `matches` stand in the queue; (0, 0.0) where nothing of them is left to play.

    What is held stands in no queue: nobody knows when it is played. Teams are served in turn, so as many pieces of each
    other team are counted as of its own; of a team that used more than its share, all.
    """
    keys = _keys(matches)
    own = list(
        Piece.objects.filter(OPEN_PIECES, match__in=keys)
        .order_by("priority", "queued_at", "match")
        .values_list("priority", "entry", "queued_at", "match")
    )
    if not own:
        held = Piece.objects.filter(match__in=keys, match__state=Match.State.SUSPENDED).exclude(
            state=Piece.State.PLAYED
        )
        return QueuePlace(0, None if held.exists() else 0.0)
    waiting = _open_by_team()
    late = over_limit({entry for _, entry, _, _ in own}, clock.database_now())
    ahead = _before(own[0], waiting, late, with_it=False)
    until_done = _before(own[-1], waiting, late, with_it=True)
    recent = Piece.objects.filter(state=Piece.State.PLAYED).order_by("-played_at").values_list("seconds", flat=True)
    seconds = [each for each in recent[:RECENT_PIECES] if each is not None]
    live = live_workers().count()
    known = until_done * sum(seconds) / len(seconds) / live if seconds and live else None
    return QueuePlace(ahead, known, over_limit=own[0][1] in late)


def _open_by_team() -> dict[tuple[int, int | None], int]:
    """How many pieces are to be played of each priority and team."""
    rows = Piece.objects.filter(OPEN_PIECES).order_by().values_list("priority", "entry").annotate(pieces=Count("pk"))
    return {(priority, entry): pieces for priority, entry, pieces in rows}


def _before(
    piece: tuple[int, int | None, datetime, int],
    waiting: Mapping[tuple[int, int | None], int],
    late: Container[int | None],
    *,
    with_it: bool,
) -> int:
    """How many pieces are played before `piece`, or up to the last one queued like it (`with_it`)."""
    priority, entry, queued_at, match = piece
    same_time = Q(match__lte=match) if with_it else Q(match__lt=match)
    earlier = Q(queued_at__lt=queued_at) | (Q(queued_at=queued_at) & same_time)
    own = Piece.objects.filter(OPEN_PIECES, earlier, priority=priority, entry=entry).count()
    others = {team: pieces for team, pieces in waiting.items() if team != (priority, entry)}
    first = sum(pieces for (other, _), pieces in others.items() if other < priority)
    equal = (pieces for (other, _), pieces in others.items() if other == priority)
    return own + first + sum(pieces if entry in late else min(pieces, own) for pieces in equal)


def worker_is_missing(matches: Iterable[Match]) -> bool:
    """Whether some of `matches` still has pieces to play that no live worker can play."""
    still_open = Piece.objects.filter(OPEN_PIECES, match__in=_keys(matches))
    live = set(live_workers().values_list("worker_class", flat=True))
    if Worker.Class.GPU in live:
        return False
    return (still_open.filter(match__needs_gpu=True) if live else still_open).exists()


def workers() -> list[WorkerStatus]:
    """Every worker that ever played, by name."""
    held = Piece.objects.filter(state=Piece.State.CLAIMED).select_related("match__model", "match__attack")
    rows = Worker.objects.prefetch_related(Prefetch("pieces", held, to_attr="held"))
    since = clock.database_now() - SIGN_OF_LIFE
    out = {host.name for host in hosts_out_of_service()}
    return [
        WorkerStatus(
            worker=row,
            live=row.last_seen_at >= since,
            holds=tuple(getattr(row, "held", ())),
            out_of_service=row.name.rpartition("/")[0] in out,
        )
        for row in rows
    ]


def waiting(now: datetime | None = None) -> QuerySet[Piece]:
    """The pieces that may be claimed now (by the database's clock), by workers of the class that they need."""
    rested = Q(lease_until__isnull=True) | Q(lease_until__lte=now or clock.database_now())
    return Piece.objects.filter(OPEN_PIECES, rested, state=Piece.State.WAITING)


def waiting_for_live() -> QuerySet[Piece]:
    """The pieces that some live worker may claim now."""
    if not live_workers().exists():
        return Piece.objects.none()
    return waiting() if gpu_worker_is_live() else waiting().filter(match__needs_gpu=False)


def gpu_worker_is_live() -> bool:
    """Whether a worker with a GPU was seen lately."""
    return live_workers().filter(worker_class=Worker.Class.GPU).exists()


def live_workers() -> QuerySet[Worker]:
    """The workers that were seen lately."""
    return Worker.objects.filter(last_seen_at__gte=clock.database_now() - SIGN_OF_LIFE)


def idle_workers() -> int:
    """How many live workers hold no piece."""
    return live_workers().exclude(pieces__state=Piece.State.CLAIMED).count()


def workers_without_heartbeat() -> int:
    """How many workers were not seen for half the time after which they count as gone, yet in the last hour."""
    now = clock.database_now()
    return Worker.objects.filter(last_seen_at__gte=now - LEFT, last_seen_at__lt=now - SIGN_OF_LIFE / 2).count()


def ever_played(sample_set: SampleSet) -> bool:
    """Whether samples of the set were shown to anybody: on itself, on the set it was drawn from, or on another draw."""
    source = sample_set.drawn_from_id or sample_set.pk
    return Match.objects.filter(Q(sample_set=source) | Q(sample_set__drawn_from=source)).exists()


def _keys(matches: Iterable[Match]) -> list[int]:
    return [match.pk for match in matches]
