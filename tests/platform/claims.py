"""Claims as the workers make them, over all kinds of work."""

from __future__ import annotations

from formats.query.matches.models import Match
from formats.query.matches.piece_queue import Claim, claim_next
from formats.transfer.tournaments.models import Run
from formats.transfer.tournaments.selectors import AnyRun
from workers import queue
from workers.heartbeat import WorkerHeartbeat
from workers.models import Worker
from workers.worker import hold


def claim_piece(worker: Worker, prefer: Match | None = None) -> Claim | None:
    """Claim the next work of `worker`, which is a piece; with `prefer`, its players are running."""
    if prefer is not None and (warm := claim_next(worker, prefer)) is not None:
        return warm
    claimed = queue.claim(worker)
    if claimed is None:
        return None
    assert isinstance(claimed.claim, Claim)
    return claimed.claim


def hold_piece(worker: Worker, heartbeat: WorkerHeartbeat) -> Claim:
    """Claim a piece and renew its lease from now on."""
    claimed = queue.claim(worker)
    assert claimed is not None
    hold(claimed.kind, claimed.claim, heartbeat)
    assert isinstance(claimed.claim, Claim)
    return claimed.claim


def claim_run(name: str) -> AnyRun | None:
    """Claim the next work of the worker with this name, which is a run."""
    claimed = queue.claim(Worker(name=name, worker_class=Worker.Class.CPU))
    if claimed is None:
        return None
    run: AnyRun = claimed.claim
    assert isinstance(run, Run)
    return run
