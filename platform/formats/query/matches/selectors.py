"""Queries on matches: progress, place in the queue, and workers."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from competitions.models import RulesVersion, SampleSet
from core import clock
from formats.query.matches.models import Match, Piece
from submissions.models import Player
from submissions.removed_images import image_is_gone
from workers.models import Worker
from workers.selectors import gpu_worker_is_live, live_workers
from workers.team_queue_order import over_limit

RECENT_PIECES = 50
"""Number of pieces from which the seconds per piece are estimated."""

_IN_OPEN_MATCHES = Q(match__state__in=[Match.State.WAITING, Match.State.PLAYING, Match.State.AUDIT])

OPEN_PIECES = Q(state__in=[Piece.State.WAITING, Piece.State.CLAIMED]) & _IN_OPEN_MATCHES
"""The pieces that are still to be played, and the audits that are still to be made."""

UNPLAYED = Q(state__in=[Piece.State.WAITING, Piece.State.FAILED])
"""The pieces that wait, or were given up."""

READY = Q(kind=Piece.Kind.PLAY) | Q(match__state=Match.State.AUDIT)
"""Audits follow all pieces of their match."""


_RULES = RulesVersion.objects.filter(competition__archived_at__isnull=False).order_by()

ARCHIVED = Q(match__rules__in=_RULES.values("pk"))
"""The pieces of archived competitions, by keys that databases list once for a query: a join could change the order in
which they read pieces."""


@dataclass(frozen=True)
class PieceProgress:
    """Played pieces of some matches, and all their pieces."""

    pieces_played: int
    pieces: int


@dataclass(frozen=True)
class QueuePlace:
    """Place of some matches in the queue: pieces that are played earlier, and seconds until their own last piece ends.

    Both are estimates; `seconds` is None if there is no basis for one: no piece played yet, no live worker, or a
    suspended match.
    """

    pieces_ahead: int
    seconds: float | None
    over_limit: bool = False
    """True if the team used more than its daily share of the workers, so that others are served first."""


def progress(matches: Iterable[Match]) -> PieceProgress:
    """Return how many pieces of `matches` are played, of how many."""
    counts = Piece.objects.filter(match__in=_keys(matches)).aggregate(
        pieces=Count("pk"), played=Count("pk", filter=Q(state=Piece.State.PLAYED))
    )
    return PieceProgress(pieces_played=counts["played"], pieces=counts["pieces"])


def queue_of(matches: Iterable[Match]) -> QueuePlace:
    """Return the place of `matches` in the queue; (0, 0.0) if nothing is left to play.

    A suspended match has no place: nobody knows when it is played. Teams are served in turn, so each other team counts
    with as many pieces as the own one; against a team above its share, all their pieces count.
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
    """Return the number of open pieces of each priority and team."""
    rows = Piece.objects.filter(OPEN_PIECES).order_by().values_list("priority", "entry").annotate(pieces=Count("pk"))
    return {(priority, entry): pieces for priority, entry, pieces in rows}


def _before(
    piece: tuple[int, int | None, datetime, int],
    waiting: Mapping[tuple[int, int | None], int],
    late: Container[int | None],
    *,
    with_it: bool,
) -> int:
    """Return how many pieces are played before `piece`, or up to the last one queued like it (`with_it`)."""
    priority, entry, queued_at, match = piece
    same_time = Q(match__lte=match) if with_it else Q(match__lt=match)
    earlier = Q(queued_at__lt=queued_at) | (Q(queued_at=queued_at) & same_time)
    own = Piece.objects.filter(OPEN_PIECES, earlier, priority=priority, entry=entry).count()
    others = {team: pieces for team, pieces in waiting.items() if team != (priority, entry)}
    first = sum(pieces for (other, _), pieces in others.items() if other < priority)
    equal = (pieces for (other, _), pieces in others.items() if other == priority)
    return own + first + sum(pieces if entry in late else min(pieces, own) for pieces in equal)


def worker_is_missing(matches: Iterable[Match]) -> bool:
    """Return True if some of `matches` has open pieces that no live worker can play."""
    still_open = Piece.objects.filter(OPEN_PIECES, match__in=_keys(matches))
    live = set(live_workers().values_list("worker_class", flat=True))
    if Worker.Class.GPU in live:
        return False
    return (still_open.filter(match__needs_gpu=True) if live else still_open).exists()


def waiting(now: datetime | None = None) -> QuerySet[Piece]:
    """Return the pieces that may be claimed now (by the database's clock), by workers of the class that they need.

    Those of archived competitions may not.
    """
    rested = Q(paused_until__isnull=True) | Q(paused_until__lte=now or clock.database_now())
    # one state and no list of several, so that the index has them in the order of the queue
    return Piece.objects.filter(_IN_OPEN_MATCHES, READY, rested, ~ARCHIVED, state=Piece.State.WAITING)


def stuck_pieces() -> QuerySet[Piece]:
    """Return the waiting pieces that would have been given up, if their faults had been on two hosts."""
    return Piece.objects.filter(_IN_OPEN_MATCHES, ~ARCHIVED, Piece.STUCK, state=Piece.State.WAITING)


def lost_baselines() -> list[Player]:
    """Return the baselines whose image the store does not have, of competitions that are not archived.

    It is asked only about those with an unplayed piece that had a fault, as one without its image has.
    """
    faulty = Piece.objects.filter(~ARCHIVED, ~Q(match__state=Match.State.CANCELLED), UNPLAYED, faults__gt=0).order_by()
    baselines = Player.objects.exclude(Q(baseline="") | Q(image=""))
    sides = Q(pk__in=faulty.values("match__model")) | Q(pk__in=faulty.values("match__attack"))
    found = baselines.filter(sides).select_related("competition").order_by("pk")
    return [player for player in found if image_is_gone(player)]


def failed_matches_of(player: Player) -> QuerySet[Match]:
    """Return the failed matches of a player, on either side."""
    return Match.objects.filter(Q(model=player) | Q(attack=player), state=Match.State.FAILED)


def waiting_for_live() -> QuerySet[Piece]:
    """Return the pieces that some live worker may claim now."""
    if not live_workers().exists():
        return Piece.objects.none()
    return waiting() if gpu_worker_is_live() else waiting().filter(match__needs_gpu=False)


def ever_played(sample_set: SampleSet) -> bool:
    """Return True if samples of the set were played: in itself, in the set it was drawn from, or in another draw."""
    source = sample_set.drawn_from_id or sample_set.pk
    return Match.objects.filter(Q(sample_set=source) | Q(sample_set__drawn_from=source)).exists()


def player_failures(matches: Iterable[int]) -> Mapping[int, Sequence[tuple[str, str]]]:
    """Return which side failed in matches and why, each once, by the key of the match; one query."""
    played = Piece.objects.filter(match__in=matches, state=Piece.State.PLAYED).exclude(failures=[])
    found: dict[int, dict[tuple[str, str], None]] = {}
    for match, failures in played.order_by("number").values_list("match", "failures"):
        found.setdefault(match, {}).update({(each["side"], each["text"]): None for each in failures})
    return {match: list(each) for match, each in found.items()}


def _keys(matches: Iterable[Match]) -> list[int]:
    return [match.pk for match in matches]
