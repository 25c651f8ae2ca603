"""Claims as the workers make them, over all kinds of work."""

from __future__ import annotations

from collections.abc import Iterator

from core import clock
from formats.query.matches.models import Match
from formats.query.matches.piece_queue import PLAYED_WITH, Claim, claim_next, waiting_for
from formats.query.matches.waiting_teams import IN_ORDER
from formats.transfer.tournaments import run_queue
from formats.transfer.tournaments.models import Run
from formats.transfer.tournaments.selectors import KINDS, AnyRun
from workers import queue
from workers.heartbeat import WorkerHeartbeat
from workers.models import Worker
from workers.work_item_models import WorkItem
from workers.work_item_queue import take, with_items
from workers.worker_loop import hold


def claim_piece(worker: Worker, prefer: Match | None = None) -> Claim | None:
    """Claim the next work of `worker`, which is a piece; with `prefer`, its players are running."""
    if prefer is not None and (warm := claim_next(worker, prefer)) is not None:
        return warm
    claimed = queue.claim(worker)
    if claimed is None:
        return None
    assert isinstance(claimed.claim, Claim)
    return claimed.claim


def claimed_pieces(worker: Worker) -> Iterator[Claim]:
    """Claim piece after piece until none waits, in the order of the queue among those that wait at once.

    For tests of what becomes of results: the choice among all teams and kinds of work costs several times a commit.
    """
    joined = [f"match__{name}" for name in PLAYED_WITH]
    while waiting := list(waiting_for(worker).select_related("match", *joined).order_by(*IN_ORDER)):
        for piece in waiting:
            assert take(piece, clock.database_now(), worker=worker)
            Match.objects.filter(pk=piece.match_id, state=Match.State.WAITING).update(state=Match.State.PLAYING)
            yield Claim(piece, worker)


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


def take_run(name: str = "worker") -> AnyRun | None:
    """Claim a run that waits, of a round first and attacks before defences; None if none waits.

    For tests of what becomes of results: the choice among all teams and kinds of work costs several times a commit.
    """
    return next(take_runs(name, most=1), None)


def take_runs(name: str = "worker", most: int | None = None) -> Iterator[AnyRun]:
    """Claim each of the runs that wait now, at `most` so many of a kind, in the order of `take_run`."""
    waiting_kinds = with_items(WorkItem.State.WAITING, KINDS)
    for kind in KINDS:
        if kind in waiting_kinds:
            waiting = run_queue.waiting(kind, clock.database_now()).select_related(*run_queue.PLAYED_WITH[kind])
            for run in waiting.order_by("priority", *run_queue.IN_ORDER)[:most]:
                if take(run, clock.database_now(), worker=name):
                    yield run
