"""Heartbeats of a worker process, for itself and for what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from competitions.rules import query_rules
from core import clock, lease
from core.worker_slot import device_of
from matches import services
from matches.engine_adapter import longest_audit_seconds, longest_seconds
from matches.models import Worker
from matches.queue import Claim
from submissions.calibration import calibration


@dataclass
class _Process:
    started_at: datetime | None = None


_process = _Process()


def register(number: int) -> Worker:
    """Record this process as the worker in slot `number`; return its row."""
    _process.started_at = _process.started_at or clock.database_now()
    return services.record_worker(
        name=f"{settings.WORKER_NAME}/{number}",
        worker_class=settings.WORKER_CLASS,
        device=device_of(number) or "",
        calibration=calibration(),
        started_at=_process.started_at,
    )


class Heartbeat(lease.Heartbeat):
    """The heartbeat of a worker process that plays."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker

    def hold_claim(self, claim: Claim | None) -> Claim | None:
        """Renew the lease of `claim` from now on, for as long as playing it may take; return `claim`."""
        if claim is not None:
            match = claim.piece.match
            rules = query_rules(match.rules.values, match.rules.version)
            if claim.piece.is_audit:
                counts = match.pieces.exclude(kept="").values_list("audit", flat=True)
                images = sum(each.get("fresh_due", 0) for each in counts)
                seconds = longest_audit_seconds(rules, images, claim.worker.calibration)
            else:
                seconds = longest_seconds(rules, claim.piece.count, claim.worker.calibration)
            self.hold(claim.piece, until=clock.database_now() + timedelta(seconds=seconds))
        return claim

    def beat(self) -> None:
        """Send one heartbeat of the worker, and renew the leases of its pieces."""
        services.record_heartbeat(self._worker)
        super().beat()
