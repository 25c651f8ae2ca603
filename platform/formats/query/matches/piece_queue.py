"""Claims and commits of pieces, and the end of a match with its last piece.

A piece is written only by the holder of its newest fence (`workers.work_item_queue`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TypeVar

from django.db import transaction
from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from core import clock, event_log, platform_error_report, worker_notifications
from formats.query.matches import kept_frames
from formats.query.matches.audit_placement import withheld_from
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.matches.piece_result import AuditedPiece, PlayedPiece, sum_audits
from formats.query.matches.selectors import waiting
from formats.query.matches.signals import match_ended
from formats.query.matches.waiting_teams import IN_ORDER, held_matches, share_of, waiting_turns
from workers.lease import LostClaimError
from workers.models import Worker
from workers.team_queue_order import charge
from workers.work_item_queue import take
from workers.work_kind_interface import Turn
from workers.worker_name import host_of

log = logging.getLogger(__name__)

Row = TypeVar("Row", bound=Model)

PLAYED_WITH = ("rules", "sample_set", "model__repository", "attack__repository")
"""Relations of a match that are needed to play it."""

OPEN_MATCH = [Match.State.WAITING, Match.State.PLAYING, Match.State.AUDIT]
"""States in which pieces of a match are claimed."""


@dataclass(frozen=True)
class Claim:
    """A piece that a worker holds. Its fence proves it: a later claim has a higher one."""

    piece: Piece
    worker: Worker


def turns(worker: Worker, now: datetime) -> list[Turn]:
    """Return the teams with pieces that `worker` may claim."""
    claimable = _claimable(worker, now)
    pieces = waiting(now).filter(claimable)
    return [turn._replace(claimable=claimable) for turn in waiting_turns(pieces, now)]


def claim(worker: Worker, turn: Turn, now: datetime) -> Claim | None:
    """Claim the first piece of a turn for `worker`; return None if other workers have taken all of them meanwhile.

    Matches that no worker plays go first, then the order of the queue.
    """
    # passed as keys, which are few: databases have planned an anti-join over every piece
    busy = held_matches()
    pieces = waiting(now).filter(turn.items).order_by(*IN_ORDER)
    return _claim_first(worker, now, pieces, lambda free: _first_of(free, busy))


def claim_next(worker: Worker, match: Match) -> Claim | None:
    """Claim the next piece of the match whose players are running; return None if none waits."""
    now = clock.database_now()
    # the model's instance of a session has to end before the audit
    pieces = waiting_for(worker, now).filter(match=match, kind=Piece.Kind.PLAY).order_by("number")
    return _claim_first(worker, now, pieces, lambda free: _next_of(free, match))


def commit(held: Claim, played: PlayedPiece) -> None:
    """Write the piece and its rows in one transaction, and finish the match with its last piece.

    Raise `LostClaimError` if another worker holds the piece now.
    """
    piece, worker = held.piece, held.worker
    now = clock.database_now()
    with transaction.atomic():
        written = piece.release(
            state=Piece.State.PLAYED,
            played_at=now,
            seconds=played.seconds,
            model_seconds=played.model_seconds,
            worker_class=worker.worker_class,
            calibration=worker.factor(gpu=piece.match.model.gpu),
            artefact=played.artefact,
            audit=asdict(played.audit),
            kept=played.kept,
            failures=played.failures,
        )
        if not written:
            raise LostClaimError(f"{piece} was lost by {worker}")
        SampleResult.objects.bulk_create(result_rows(piece, played))
        _finish(piece.match_id)
        charge(share_of(piece), now)


def result_rows(piece: Piece, played: PlayedPiece) -> Iterator[SampleResult]:
    """Yield the rows of a played piece, which are not stored."""
    for row in played.samples:
        yield SampleResult(
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


def commit_audit(held: Claim, audited: Sequence[AuditedPiece]) -> None:
    """Write the audits of pieces, with the rows that they change, in one transaction, and finish the match.

    Raise `LostClaimError` if another worker holds the audit now.
    """
    piece, now = held.piece, clock.database_now()
    with transaction.atomic():
        if not piece.release():
            raise LostClaimError(f"{piece} was lost by {held.worker}")
        for each in audited:
            Piece.objects.filter(pk=each.piece, kept=each.kept).update(
                audit=asdict(each.audit), artefact=each.artefact, kept=""
            )
            for row in each.samples:
                SampleResult.objects.filter(piece=each.piece, sample=row.sample).update(
                    outcome=str(row.outcome),
                    distance=row.distance,
                    reason=str(row.reason or ""),
                    found_label=row.found_label,
                )
        charge(share_of(piece), now)
        Piece.objects.filter(pk=piece.pk).delete()
        _finish(piece.match_id)
    for each in audited:
        kept_frames.remove(each.kept)


def finish_played(*, among: Sequence[int] | None = None) -> int:
    """Finish open matches (`among` these keys) whose pieces are all played; return how many."""
    unplayed = Piece.objects.filter(match=OuterRef("pk"), kind=Piece.Kind.PLAY).exclude(state=Piece.State.PLAYED)
    complete = Match.objects.filter(~Exists(unplayed), state__in=OPEN_MATCH)
    return _count(complete if among is None else complete.filter(pk__in=among), lambda match: _finish(match.pk))


def fail_given_up() -> int:
    """Fail open matches with a piece that was given up; return how many."""
    stuck = Piece.objects.filter(state=Piece.State.FAILED, match__state__in=OPEN_MATCH).select_related("match")
    return _count(stuck, lambda piece: fail_match(piece, "while the match was suspended; see its events"))


def waiting_for(worker: Worker, now: datetime | None = None) -> QuerySet[Piece]:
    """Return the pieces that `worker` may claim now."""
    return waiting(now).filter(_claimable(worker, now or clock.database_now()))


def _claimable(worker: Worker, now: datetime) -> Q:
    """Return which waiting pieces `worker` may claim: without a GPU, those of matches that need none.

    A model is never audited while its host plays it (see `formats.query.matches.audit_placement`).
    """
    allowed = ~withheld_from(host_of(worker.name), now)
    return allowed if worker.worker_class == Worker.Class.GPU else allowed & Q(match__needs_gpu=False)


def _count(rows: QuerySet[Row], act: Callable[[Row], bool]) -> int:
    """Apply `act` to each row and count the changed ones. A row that fails is logged and does not stop the others."""
    changed = 0
    for row in rows:
        try:
            with transaction.atomic():
                changed += act(row)
        except Exception as error:
            platform_error_report.report(log, error, "the sweep failed for %s", row)
    return changed


def _claim_first(
    worker: Worker, now: datetime, pieces: QuerySet[Piece], first: Callable[[QuerySet[Piece]], Piece | None]
) -> Claim | None:
    """Claim for `worker` the piece that `first` chooses of those of `pieces` that nobody else claims."""
    while True:
        with transaction.atomic():
            # locked rows are being claimed by others; on databases without such locks, writers wait for each other
            piece = first(pieces.select_for_update(skip_locked=True, of=("self",)))
            if piece is None:
                return None
            if take(piece, now, worker=worker):
                # not one that a request holds, which may wait for this piece: the next claim marks it
                free = Match.objects.select_for_update(skip_locked=True, no_key=True)
                begun = free.filter(pk=piece.match_id, state=Match.State.WAITING).values("pk")
                Match.objects.filter(pk__in=begun).update(state=Match.State.PLAYING)
                return Claim(piece, worker)


def _next_of(pieces: QuerySet[Piece], match: Match) -> Piece | None:
    piece = pieces.first()
    if piece is not None:
        piece.match = match
    return piece


def _first_of(pieces: QuerySet[Piece], busy: Collection[int]) -> Piece | None:
    """Return the first of `pieces`, if possible of a match that no worker plays."""
    piece = pieces.first()
    # in two steps: sorting by whether a match is held would read every waiting piece
    if piece is not None and piece.match_id in busy:
        piece = pieces.exclude(match__in=busy).first() or piece
    if piece is not None:
        piece.match = Match.objects.select_related(*PLAYED_WITH).get(pk=piece.match_id)
    return piece


def fail_match(piece: Piece, reason: str) -> bool:
    """Fail the match of a piece that was given up; `reason` follows "given up". In the transaction that does so."""
    # locked: otherwise a concurrent replay misses this piece, and this call misses that the match is open again
    match = Match.objects.select_for_update(no_key=True).get(pk=piece.match_id)
    if match.state not in OPEN_MATCH or not match.pieces.filter(state=Piece.State.FAILED).exists():
        return False
    match.state = Match.State.FAILED
    match.fault = f"{'the audit' if piece.is_audit else f'piece {piece.number}'} was given up {reason}"
    match.finished_at = clock.database_now()
    match.save(update_fields=["state", "fault", "finished_at"])
    event_log.record("fail_match", match, reason=match.fault)
    match_ended.send(Match)
    return True


def _finish(key: int) -> bool:
    """Finish the match `key` if all its pieces are played; if its model is to be audited first, queue that.

    In the transaction of the last piece, or of the audit.
    """
    # locked: otherwise two workers that commit the last two pieces concurrently miss each other's piece
    match = Match.objects.select_for_update(no_key=True).get(pk=key)
    pieces = match.pieces.filter(kind=Piece.Kind.PLAY)
    if match.state not in OPEN_MATCH or pieces.exclude(state=Piece.State.PLAYED).exists():
        return False
    played = list(pieces.order_by().values_list("kept", "audit"))  # in any order: the audits are summed
    if any(kept for kept, _ in played):
        _request_audit(match)
        return False
    match.state = Match.State.PLAYED
    match.audit = sum_audits(audit for _, audit in played)
    match.finished_at = clock.database_now()
    match.save(update_fields=["state", "audit", "finished_at"])
    match_ended.send(Match)
    return True


def _request_audit(match: Match) -> None:
    """Queue the audit of a played match, with the share and the place in the queue of its last piece."""
    Match.objects.filter(pk=match.pk).exclude(state=Match.State.AUDIT).update(state=Match.State.AUDIT)
    if match.pieces.filter(kind=Piece.Kind.AUDIT).exists():
        return
    last = match.pieces.latest("number")
    Piece.objects.create(
        match=match,
        kind=Piece.Kind.AUDIT,
        number=last.number + 1,
        first=last.first + last.count,
        count=0,
        priority=last.priority,
        entry_id=last.entry_id,
        queued_at=last.queued_at,
    )
    worker_notifications.notify("workers.play")
