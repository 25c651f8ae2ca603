"""The queue of pieces: the database itself, read by whoever has a hand free.

A piece is held by a lease that its worker prolongs, and written only by the holder of its newest fence. Every change
of state is one conditional UPDATE, so that nothing is ever played or counted twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import Exists, Model, OuterRef, QuerySet

from core import clock, events, faults, notify
from matches.models import Match, Piece, SampleResult, Worker
from matches.piece_result import PlayedPiece, sum_audits
from matches.queue_order import IN_ORDER, charge, fair_order, held_pieces
from matches.selectors import waiting

LEASE = timedelta(seconds=30)
"""How long a piece is held without a sign of life."""

MOST_FAULTS = 3
"""At so many faults of ours a piece is given up, and its match with it."""

PAUSES = (timedelta(seconds=10), timedelta(seconds=120))
"""How long a piece rests after its first and its second fault: what is wrong with a host may be mended meanwhile."""

log = logging.getLogger(__name__)

Row = TypeVar("Row", bound=Model)

PLAYED_WITH = ("rules", "sample_set", "model__repository", "attack__repository")
"""What of a match is needed to play it."""

OPEN_MATCH = [Match.State.WAITING, Match.State.PLAYING]
"""The states in which pieces of a match are taken up. One that is held or cancelled is nobody's to play."""


class LostClaimError(Exception):
    """Somebody else has the piece by now, so nothing was written."""


@dataclass(frozen=True)
class Claim:
    """A piece in a worker's hands. `fence` proves it: who claims the piece after us has a higher one."""

    piece: Piece
    fence: int
    worker: Worker


def claim(worker: Worker, prefer: Match | None = None) -> Claim | None:
    """Take the next piece for `worker`, None where nothing waits that it can play.

    `prefer`, the match whose players are warm, goes first; then rounds; then the team that comes next by
    `core.fair_share`. Of a round or a team, matches that nobody holds go first, and among these what was queued first.
    """
    expire()
    while True:
        with transaction.atomic():
            now = clock.database_now()
            piece = _first_for(worker, prefer, now)
            if piece is None:
                return None
            if _take(piece, worker, now):
                return Claim(piece, piece.fence, worker)


def heartbeat(held: Claim) -> bool:
    """Prolong the lease; False where the piece is no longer ours."""
    return _held(held).update(lease_until=clock.database_now() + LEASE) == 1


def commit(held: Claim, played: PlayedPiece) -> None:
    """Write the piece and its rows as one act, and end the match with its last piece.

    Raises `LostClaimError` where somebody else has the piece by now.
    """
    piece, worker = held.piece, held.worker
    now = clock.database_now()
    with transaction.atomic():
        written = _held(held).update(
            state=Piece.State.PLAYED,
            lease_until=None,
            played_at=now,
            seconds=played.seconds,
            worker_class=worker.worker_class,
            calibration=worker.calibration,
            artefact=played.artefact,
            audit=asdict(played.audit),
            failures=played.failures,
        )
        if not written:
            raise LostClaimError(f"{piece} was lost by {worker}")
        SampleResult.objects.bulk_create(
            SampleResult(
                match_id=piece.match_id,
                piece=piece,
                sample=row.sample,
                outcome=str(row.outcome),
                distance=row.distance,
                worst_case=row.worst_case,
                queries=row.queries,
                seconds=row.seconds,
                reason=str(row.reason or ""),
                found_label=row.found_label,
            )
            for row in played.samples
        )
        _finish(piece.match_id)
        charge(piece, now)


def release_claim(held: Claim, *, fault: str = "") -> bool:
    """Let go of a piece unplayed; with `fault`, what of ours went wrong, it counts one. False where it is not ours."""
    if fault:
        return _count_fault(held.piece, fault, rests=True)
    return _held(held).update(state=Piece.State.WAITING, worker=None, lease_until=None) == 1


def expire() -> int:
    """Take the pieces back whose workers gave no sign of life, each with a fault; how many."""
    now = clock.database_now()
    out = Piece.objects.filter(state=Piece.State.CLAIMED, lease_until__lt=now).select_related("worker")
    return _count(out, lambda piece: _count_fault(piece, f"{piece.worker} gave no sign of life", rests=False))


def finish_played(*, among: Sequence[int] | None = None) -> int:
    """End the matches (`among` these keys) whose pieces are all played, where nobody did; how many."""
    unplayed = Piece.objects.filter(match=OuterRef("pk")).exclude(state=Piece.State.PLAYED)
    over = Match.objects.filter(~Exists(unplayed), state__in=OPEN_MATCH)
    return _count(over if among is None else over.filter(pk__in=among), lambda match: _finish(match.pk))


def fail_given_up() -> int:
    """End the matches of which a piece was given up, where nobody did; how many."""
    stuck = Piece.objects.filter(state=Piece.State.FAILED, match__state__in=OPEN_MATCH).select_related("match")
    return _count(stuck, lambda piece: _fail(piece, "its events tell"))


def waiting_for(worker: Worker, now: datetime | None = None) -> QuerySet[Piece]:
    """The pieces that `worker` may claim now: without a GPU, those of matches that need none."""
    pieces = waiting(now)
    return pieces if worker.worker_class == Worker.Class.GPU else pieces.filter(match__needs_gpu=False)


def _count(rows: QuerySet[Row], act: Callable[[Row], bool]) -> int:
    """Do `act` to each row, and count where it changed something. A row that fails is logged and stops no other."""
    changed = 0
    for row in rows:
        try:
            with transaction.atomic():
                changed += act(row)
        except Exception as error:
            faults.report(log, error, "the sweep failed at %s", row)
    return changed


def _first_for(worker: Worker, prefer: Match | None, now: datetime) -> Piece | None:
    # locked rows are in somebody's hands this very moment; where the database has no such locks, writers queue up
    pieces = waiting_for(worker, now).select_for_update(skip_locked=True, of=("self",))
    if prefer is not None and (warm := pieces.filter(match=prefer).order_by("number").first()):
        warm.match = prefer
        return warm
    held = held_pieces()
    # given by their keys, which are few: databases have planned an anti-join over every piece
    busy = {each.match for each in held}
    rounds = pieces.filter(priority=Piece.Priority.ROUND).order_by(*IN_ORDER)
    if found := _first_of(rounds, busy):
        return found
    teams = fair_order(waiting_for(worker, now), held, now)
    # of the first team all that waits may be locked: others claim it this very moment
    found_of = (_first_of(pieces.filter(**team).order_by(*IN_ORDER), busy) for team in teams)
    return next((found for found in found_of if found), None)


def _first_of(pieces: QuerySet[Piece], busy: Collection[int]) -> Piece | None:
    """The first of `pieces`, if it can be of a match that no worker plays."""
    piece = pieces.first()
    # in two steps: sorting by whether a match is held would look at every piece that waits
    if piece is not None and piece.match_id in busy:
        piece = pieces.exclude(match__in=busy).first() or piece
    if piece is not None:
        piece.match = Match.objects.select_related(*PLAYED_WITH).get(pk=piece.match_id)
    return piece


def _take(piece: Piece, worker: Worker, now: datetime) -> bool:
    """Make `piece` the worker's; False where somebody else was faster."""
    claimed = {"state": Piece.State.CLAIMED, "worker": worker, "fence": piece.fence + 1, "claimed_at": now}
    free = Piece.objects.filter(pk=piece.pk, state=Piece.State.WAITING, fence=piece.fence)
    if not free.update(**claimed, lease_until=now + LEASE):
        return False
    for name, value in claimed.items():
        setattr(piece, name, value)
    Match.objects.filter(pk=piece.match_id, state=Match.State.WAITING).update(state=Match.State.PLAYING)
    return True


def _held(held: Claim) -> QuerySet[Piece]:
    """The row of the claim, as long as it is the holder's."""
    return Piece.objects.filter(pk=held.piece.pk, fence=held.fence, state=Piece.State.CLAIMED)


def _count_fault(piece: Piece, fault: str, *, rests: bool) -> bool:
    """Return `piece`, as it was read while it was claimed, or give it up; False where it changed hands meanwhile."""
    faults, now = piece.faults + 1, clock.database_now()
    given_up = faults >= MOST_FAULTS
    claimed = Piece.objects.filter(pk=piece.pk, fence=piece.fence, state=Piece.State.CLAIMED)
    if not rests:
        claimed = claimed.filter(lease_until__lt=now)
    with transaction.atomic():
        returned = claimed.update(
            state=Piece.State.FAILED if given_up else Piece.State.WAITING,
            faults=faults,
            worker=None,
            lease_until=now + PAUSES[faults - 1] if rests and not given_up else None,
        )
        if not returned:
            return False
        events.record("return_piece", piece, reason=fault, match=piece.match_id, number=piece.number, faults=faults)
        if given_up:
            _fail(piece, fault)
    return True


def _fail(piece: Piece, fault: str) -> bool:
    """End the match of a piece that was given up. In the transaction that gives it up."""
    # locked, or a replay that is under way would miss this piece, and this would miss that the match is open again
    match = Match.objects.select_for_update(no_key=True).get(pk=piece.match_id)
    if match.state not in OPEN_MATCH or not match.pieces.filter(state=Piece.State.FAILED).exists():
        return False
    match.state = Match.State.FAILED
    match.fault = f"piece {piece.number} failed {MOST_FAULTS} times on our side, the last time so: {fault}"
    match.finished_at = clock.database_now()
    match.save(update_fields=["state", "fault", "finished_at"])
    events.record("fail_match", match, reason=match.fault)
    _tell_of_end()
    return True


def _finish(key: int) -> bool:
    """End the match `key` where all its pieces are played. In the transaction of the last piece."""
    # locked, or of two workers that commit the last two pieces at once each would still miss the other's
    match = Match.objects.select_for_update(no_key=True).get(pk=key)
    pieces = match.pieces.all()
    if match.state not in OPEN_MATCH or pieces.exclude(state=Piece.State.PLAYED).exists():
        return False
    match.state = Match.State.PLAYED
    match.audit = sum_audits(pieces.values_list("audit", flat=True))
    match.finished_at = clock.database_now()
    match.save(update_fields=["state", "audit", "finished_at"])
    _tell_of_end()
    return True


def _tell_of_end() -> None:
    """Wake whoever may have waited for the end of a match."""
    notify.notify("leaderboards.score")
    notify.notify("rounds.advance")
