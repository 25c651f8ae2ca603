"""Heartbeats of a worker process, for itself and for the pieces that it holds."""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from django.db import DatabaseError, close_old_connections, connections

from competitions.rules import query_rules
from core import clock
from matches import queue, services
from matches.engine_adapter import longest_seconds
from matches.models import Worker
from matches.queue import Claim

BEAT_SECONDS = 5.0
"""A sixth of the lease, so that a few beats may be missed."""

log = logging.getLogger(__name__)


class Heartbeat:
    """A thread that sends heartbeats while the process lives, or within a `with`."""

    def __init__(self, worker: Worker, seconds: float = BEAT_SECONDS) -> None:
        self._worker = worker
        self._seconds = seconds
        self._held: dict[int, tuple[Claim, datetime]] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def hold(self, claim: Claim | None) -> Claim | None:
        """Renew the lease of `claim` from now on, for as long as playing it may take; return `claim`."""
        if claim is not None:
            match = claim.piece.match
            rules = query_rules(match.rules.values, match.rules.version)
            seconds = longest_seconds(rules, claim.piece.count, claim.worker.calibration)
            self._held[claim.piece.pk] = claim, clock.database_now() + timedelta(seconds=seconds)
        return claim

    def drop(self, claim: Claim) -> None:
        """Stop renewing the lease of `claim`."""
        self._held.pop(claim.piece.pk, None)

    def beat(self) -> None:
        """Send one heartbeat, also for held pieces; a play that hangs gets none, so that its lease expires."""
        try:
            now = services.record_heartbeat(self._worker)
            for claim, hangs_at in list(self._held.values()):
                if now >= hangs_at:
                    log.error("%s is held longer than playing it may take", claim.piece)
                    self.drop(claim)
                elif not queue.heartbeat(claim):
                    self.drop(claim)
        except DatabaseError:  # tried again with the next beat
            log.warning("a heartbeat was missed", exc_info=True)

    def _run(self) -> None:
        try:
            while not self._stopped.wait(self._seconds):
                close_old_connections()
                self.beat()
        finally:
            connections.close_all()
