"""Pieces and audits as work of the workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import QuerySet

from core.database_retry import persist
from formats.query.matches import match_session, piece_queue, repeated_pieces
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_queue import Claim
from formats.query.matches.selectors import waiting
from submissions.selectors import submissions_of_players
from workers import host_comparisons
from workers.lease import Heartbeat
from workers.models import Worker
from workers.sandboxes import StoppableSandbox, stoppable_sandbox
from workers.work_item_queue import ItemQueue
from workers.work_kind_interface import PlaySession, Turn
from workers.worker_name import host_of


class PieceWork(ItemQueue[Claim, Piece]):
    """Pieces of matches, and the audits that follow them."""

    name = "pieces"
    tables = (Piece,)

    def waits(self) -> bool:
        return waiting().exists()

    def turns(self, worker: Worker, now: datetime) -> list[Turn]:
        return piece_queue.turns(worker, now)

    def claimable(self, worker: Worker, now: datetime) -> Sequence[QuerySet[Any]]:
        return [piece_queue.waiting_for(worker, now)]

    def claim(self, worker: Worker, turn: Turn, now: datetime) -> Claim | None:
        return piece_queue.claim(worker, turn, now)

    def row(self, claim: Claim) -> Piece:
        return claim.piece

    def longest(self, claim: Claim) -> timedelta:
        return timedelta(seconds=match_session.longest_seconds_of(claim.piece, claim.worker))

    @contextmanager
    def session(self, claim: Claim, heartbeat: Heartbeat) -> Iterator[PlaySession[Claim]]:
        sandbox = stoppable_sandbox()
        if claim.piece.is_audit:
            yield _AuditSession(sandbox)
            return
        with match_session.MatchSession(claim.piece.match, claim.worker, sandbox) as players:
            yield _MatchSession(players, sandbox, claim)

    def log_ids(self, claim: Claim) -> dict[str, int]:
        return {"match": claim.piece.match_id, "piece": claim.piece.pk}

    def step(self, claim: Claim) -> str:
        return "audit" if claim.piece.is_audit else "piece"

    def traced(self, claim: Claim) -> list[int]:
        match = claim.piece.match
        return submissions_of_players((match.model_id, match.attack_id), claim.piece.entry_id)

    def needless(self) -> QuerySet[Piece]:
        """Return those of cancelled matches."""
        return Piece.objects.filter(match__state=Match.State.CANCELLED)

    def given_up(self, item: Piece, reason: str) -> None:
        """Fail its match."""
        piece_queue.fail_match(item, reason)


pieces = PieceWork()


class _MatchSession:
    """The players of one match, over all pieces of it that one worker plays in a row."""

    def __init__(self, players: match_session.MatchSession, sandbox: StoppableSandbox, first: Claim) -> None:
        self._players, self._sandbox = players, sandbox
        self._worker, self._match = first.worker, first.piece.match

    def play(self, claim: Claim) -> None:
        played = self._players.settle(self._players.play(claim.piece))
        persist(partial(piece_queue.commit, claim, played))

    def stop(self) -> None:
        self._sandbox.stop()

    def claim_next(self) -> Claim | None:
        return piece_queue.claim_next(self._worker, self._match)


class _AuditSession:
    """The audit of one model."""

    def __init__(self, sandbox: StoppableSandbox) -> None:
        self._sandbox = sandbox

    def play(self, claim: Claim) -> None:
        match, worker = claim.piece.match, claim.worker
        audited = match_session.audit(match, worker, self._sandbox)
        found = repeated_pieces.comparisons(match, host_of(worker.name), audited)
        persist(partial(piece_queue.commit_audit, claim, audited))
        persist(partial(host_comparisons.record, found))

    def stop(self) -> None:
        self._sandbox.stop()

    def claim_next(self) -> Claim | None:
        return None
