"""Worker loop: claim an item, play it, commit it."""

from __future__ import annotations

import logging
import time
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from django.conf import settings

from core import clock, platform_error_report, submission_traces, worker_notifications
from core.database_retry import FAILURES, persist
from core.log_formatters import log_ids
from evaluation.domain.errors import StoppedError
from workers import host_health, lease, queue
from workers.heartbeat import WorkerHeartbeat
from workers.lease import LostClaimError
from workers.models import Worker
from workers.queue import Claimed
from workers.work_kind_interface import Work

log = logging.getLogger(__name__)


def play(worker: Worker, heartbeat: WorkerHeartbeat, *, seconds: float) -> None:
    """Play what waits for `worker` until nothing is left or `seconds` have passed.

    Stop after a platform error: the problem of this host would affect the next item too. Claim nothing while this host
    is out of service.
    """
    ends = time.monotonic() + seconds
    if not host_health.wait_for_service(seconds):
        return
    claimed = queue.claim(worker)
    if claimed is not None and queue.anything_waits(worker):
        # received by an idle worker, or by this one when it is done: messages neither grow nor run out
        worker_notifications.notify("workers.play")
    while claimed is not None:
        if not work_on(claimed, heartbeat, ends) or time.monotonic() >= ends or not host_health.may_claim():
            return
        claimed = queue.claim(worker)


def work_on(claimed: Claimed, heartbeat: lease.Heartbeat, ends: float = 0.0) -> bool:
    """Play and commit a claimed item, and until `ends` (monotonic) what its players can play after it.

    Return False after a platform error.
    """
    kind, first = claimed.kind, claimed.claim
    claim: Any | None = first
    try:
        hold(kind, first, heartbeat)
        with kind.session(first, heartbeat) as session:
            while claim is not None:
                stops = heartbeat.once_lost(kind.row(claim), session.stop)
                with log_ids(**kind.log_ids(claim)), _traced(kind, claim), stops:
                    session.play(claim)
                heartbeat.drop(kind.row(claim))
                go_on = time.monotonic() < ends and host_health.may_claim()
                claim = session.claim_next() if go_on else None
                if claim is not None:
                    hold(kind, claim, heartbeat)
        return True
    except (LostClaimError, StoppedError):
        with log_ids(**kind.log_ids(claim or first)):
            log.warning("the claim on %s was lost; nothing more was written", kind.row(claim or first))
        _release(kind, claim, heartbeat)
        return True
    except Exception as failure:  # always a platform error: errors of players are in the result
        with log_ids(**kind.log_ids(claim or first)):
            platform_error_report.report(log, failure, "the work on %s failed", kind.row(claim or first))
            # if the database or this host failed, the item is not to blame and must not be given up
            host_failed = isinstance(failure, FAILURES) or not persist(partial(host_health.check_after, failure))
        _release(kind, claim, heartbeat, fault=f"{type(failure).__name__}: {failure}", host_failed=host_failed)
        return False
    except BaseException:  # the worker is stopped: no fault, and the item is free immediately
        _release(kind, claim, heartbeat)
        raise


def hold(kind: Work[Any], claim: Any, heartbeat: lease.Heartbeat) -> None:
    """Renew the lease of an item from now on, for as long as playing it may take."""
    heartbeat.hold(kind.row(claim), until=clock.database_now() + kind.longest(claim))


def _traced(kind: Work[Any], claim: Any) -> AbstractContextManager[None]:
    """Return the block in which an item is played: a step in the traces of its submissions, if traces are on."""
    if not settings.TRACES:
        return nullcontext()
    known = {"kind": kind.name, "worker": kind.row(claim).holder, "outcome": "played"}
    return submission_traces.span(kind.step(claim), partial(kind.traced, claim), **known)


def _release(
    kind: Work[Any], claim: Any | None, heartbeat: lease.Heartbeat, fault: str = "", *, host_failed: bool = False
) -> None:
    if claim is not None:
        heartbeat.drop(kind.row(claim))
        persist(partial(kind.release, claim, fault=fault, host_failed=host_failed))
