"""The queue of pieces: the database itself, read by whoever has a hand free.

A piece is held by a lease that its worker prolongs, and written only by the holder of its newest fence. Every change
of state is one conditional UPDATE, so that nothing is ever played or counted twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import Exists, Model, OuterRef, QuerySet

from core import clock, doorbell, events
from matches.models import Match, Piece, SampleResult, Worker
from matches.played import PlayedPiece, sum_audits
from matches.selectors import waiting

LEASE = timedelta(seconds=30)
"""How long a piece is held without a sign of life."""

MOST_FAULTS = 3
"""At so many faults of ours a piece is given up, and its match with it."""

PAUSES = (timedelta(seconds=10), timedelta(seconds=120))
"""How long a piece rests after its first and its second fault: what is wrong with a host may be mended meanwhile."""

log = logging.getLogger(__name__)

Row = TypeVar("Row", bound=Model)

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

    `prefer`, the match whose players are warm, goes first; then matches that nobody holds; among these what was queued
    first.
    """
    expire()
    while True:
        with transaction.atomic():
            piece = _first_for(worker, prefer)
            if piece is None:
                return None
            if _take(piece, worker):
                return Claim(piece, piece.fence, worker)


def heartbeat(held: Claim) -> bool:
    """Prolong the lease; False where the piece is no longer ours."""
    return _held(held).update(lease_until=clock.now() + LEASE) == 1


def commit(held: Claim, played: PlayedPiece) -> None:
    """Write the piece and its rows as one act, and end the match with its last piece.

    Raises `LostClaimError` where somebody else has the piece by now.
    """
    piece, worker = held.piece, held.worker
    with transaction.atomic():
        written = _held(held).update(
            state=Piece.State.PLAYED,
            lease_until=None,
            played_at=clock.now(),
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


def give_back(held: Claim, *, fault: str = "") -> bool:
    """Let go of a piece unplayed; with `fault`, what of ours went wrong, it counts one. False where it is not ours."""
    if fault:
        return _count_fault(held.piece, fault, rests=True)
    return _held(held).update(state=Piece.State.WAITING, worker=None, lease_until=None) == 1


def expire() -> int:
    """Take the pieces back whose workers gave no sign of life, each with a fault; how many."""
    out = Piece.objects.filter(state=Piece.State.CLAIMED, lease_until__lt=clock.now()).select_related("worker")
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


def waiting_for(worker: Worker) -> QuerySet[Piece]:
    """The pieces that `worker` may claim now: without a GPU, those of matches that need none."""
    if worker.worker_class == Worker.Class.GPU:
        return waiting()
    return waiting().filter(match__needs_gpu=False)


def _count(rows: QuerySet[Row], act: Callable[[Row], bool]) -> int:
    """Do `act` to each row, and count where it changed something. A row that fails is logged and stops no other."""
    changed = 0
    for row in rows:
        try:
            with transaction.atomic():
                changed += act(row)
        except Exception:
            log.exception("the sweep failed at %s", row)
    return changed


def _first_for(worker: Worker, prefer: Match | None) -> Piece | None:
    pieces = waiting_for(worker).select_related(
        "match__rules", "match__sample_set", "match__model__repository", "match__attack__repository"
    )
    # locked rows are in somebody's hands this very moment; where the database has no such locks, writers queue up
    pieces = pieces.select_for_update(skip_locked=True, of=("self",))
    if prefer is not None and (warm := pieces.filter(match=prefer).order_by("number").first()):
        return warm
    others = Piece.objects.filter(match=OuterRef("match"), state=Piece.State.CLAIMED)
    # by the columns of an index: `match` would sort by the other table, and so look at every piece that waits
    oldest = pieces.order_by("queued_at", "match_id", "number")
    # in two steps: sorting by whether a match is held would look at every piece that waits
    return oldest.filter(~Exists(others)).first() or oldest.first()


def _take(piece: Piece, worker: Worker) -> bool:
    """Make `piece` the worker's; False where somebody else was faster."""
    taken = Piece.objects.filter(pk=piece.pk, state=Piece.State.WAITING, fence=piece.fence).update(
        state=Piece.State.CLAIMED, worker=worker, fence=piece.fence + 1, lease_until=clock.now() + LEASE
    )
    if taken:
        piece.state, piece.worker, piece.fence = Piece.State.CLAIMED, worker, piece.fence + 1
        Match.objects.filter(pk=piece.match_id, state=Match.State.WAITING).update(state=Match.State.PLAYING)
    return taken == 1


def _held(held: Claim) -> QuerySet[Piece]:
    """The row of the claim, as long as it is the holder's."""
    return Piece.objects.filter(pk=held.piece.pk, fence=held.fence, state=Piece.State.CLAIMED)


def _count_fault(piece: Piece, fault: str, *, rests: bool) -> bool:
    """Return `piece`, as it was read while it was claimed, or give it up; False where it changed hands meanwhile."""
    faults, now = piece.faults + 1, clock.now()
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
    match.finished_at = clock.now()
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
    match.finished_at = clock.now()
    match.save(update_fields=["state", "audit", "finished_at"])
    _tell_of_end()
    return True


def _tell_of_end() -> None:
    """Wake whoever may have waited for the end of a match."""
    doorbell.ring("leaderboards.score")
    doorbell.ring("rounds.conduct")
