"""Claims as the workers make them, over all kinds of work."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime

from django.db import transaction
from django.db.models import F

from core import clock
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.matches.piece_queue import OPEN_MATCH, PLAYED_WITH, Claim, claim_next, result_rows, waiting_for
from formats.query.matches.piece_result import PlayedPiece, sum_audits
from formats.query.matches.signals import match_ended
from formats.query.matches.waiting_teams import IN_ORDER
from formats.transfer.tournaments import run_queue
from formats.transfer.tournaments.models import Run
from formats.transfer.tournaments.selectors import KINDS, AnyRun
from workers import queue
from workers.heartbeat import WorkerHeartbeat
from workers.models import Worker
from workers.team_queue_order import charge_all
from workers.work_item_models import WorkItem
from workers.work_item_queue import take, with_items
from workers.work_kind_interface import Held
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


@transaction.atomic
def play_waiting(worker: Worker, play: Callable[[Claim], PlayedPiece]) -> int:
    """Let `worker` play all pieces that wait at once; return how many.

    It writes the rows that claims and `piece_queue.commit` would write one by one, in a few statements. For tests of
    what follows from results; their audits are done.
    """
    now = clock.database_now()
    joined = [f"match__{name}" for name in PLAYED_WITH]
    waiting = list(waiting_for(worker).select_related("match", *joined).order_by(*IN_ORDER))
    rows: list[SampleResult] = []
    same: dict[str, list[int]] = defaultdict(list)
    for piece in waiting:
        played = play(Claim(piece, worker))
        assert not played.kept
        columns = {
            "seconds": played.seconds,
            "model_seconds": played.model_seconds,
            "calibration": worker.factor(gpu=piece.match.model.gpu),
            "artefact": played.artefact,
            "audit": asdict(played.audit),
            "failures": played.failures,
        }
        same[json.dumps(columns)].append(piece.pk)
        rows += result_rows(piece, played)
    SampleResult.objects.bulk_create(rows)
    claimed = {"worker": worker, "worker_class": worker.worker_class, "fence": F("fence") + 1, "claimed_at": now}
    for columns_of_them, keys in same.items():
        values = claimed | json.loads(columns_of_them) | {"state": Piece.State.PLAYED, "played_at": now}
        Piece.objects.filter(pk__in=keys).update(**values, paused_until=None)
    _finish({piece.match_id for piece in waiting}, now)
    charge_all((Held(piece.priority, piece.entry_id, now) for piece in waiting), now)
    return len(waiting)


def _finish(matches: set[int], now: datetime) -> None:
    """Finish those of `matches` whose pieces are all played."""
    open_matches = Match.objects.filter(pk__in=matches, state__in=OPEN_MATCH)
    states: dict[int, list[tuple[str, dict[str, int]]]] = defaultdict(list)
    for key, state, audit in Piece.objects.filter(match__in=open_matches).values_list("match", "state", "audit"):
        states[key].append((state, audit))
    ended = defaultdict(list)
    for key, pieces in states.items():
        if all(state == Piece.State.PLAYED for state, _ in pieces):
            ended[json.dumps(sum_audits(audit for _, audit in pieces))].append(key)
    for audit_of_them, keys in ended.items():
        values = {"state": Match.State.PLAYED, "audit": json.loads(audit_of_them), "finished_at": now}
        Match.objects.filter(pk__in=keys).update(**values)
    open_matches.filter(state=Match.State.WAITING).update(state=Match.State.PLAYING)
    if ended:
        match_ended.send(Match)


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
