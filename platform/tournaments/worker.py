"""Worker loop: claim runs, play them, commit each one separately."""

from __future__ import annotations

import logging
import time
from functools import partial

from core import clock, faults, notify
from core.database import FAILURES, persist
from core.lease import Heartbeat, LostClaimError
from submissions import host_health
from tournaments import engine_adapter, queue
from tournaments.models import AttackRun, RepeatRun
from tournaments.selectors import AnyRun

log = logging.getLogger(__name__)


def play_runs(worker: str, heartbeat: Heartbeat, *, seconds: float) -> None:
    """Play runs until none is left or `seconds` have passed.

    Stop after a platform error: the problem of this host would affect the next run too. Claim nothing while this host
    is out of service.
    """
    ends = time.monotonic() + seconds
    if not host_health.wait_for_service(seconds):
        return
    run = queue.claim(worker)
    if run is not None and queue.anything_waits():
        # received by an idle worker, or by this one when it is done: messages neither grow nor run out
        notify.notify("tournaments.play")
    while run is not None:
        if not _play(run, heartbeat) or time.monotonic() >= ends:
            return
        run = queue.claim(worker)


def _play(run: AnyRun, heartbeat: Heartbeat) -> bool:
    """Play and commit a claimed run; return False after a platform error."""
    heartbeat.hold(run, until=clock.database_now() + engine_adapter.longest(run.tournament))
    try:
        result = engine_adapter.play(run)
        persist(partial(queue.commit, run, result))
        notify.notify("tournaments.advance", tournament=run.tournament.pk, **_attack_run(run))
        return True
    except LostClaimError:
        log.warning("the claim on %s was lost while it was played; nothing was written", run)
        return True
    except Exception as failure:  # always a platform error: errors of submissions are in the result
        faults.report(log, failure, "%s could not be played", run)
        # if the database or this host failed, the run is not to blame and must not be given up
        host_failed = isinstance(failure, FAILURES) or not persist(partial(host_health.check_after, failure))
        fault = f"{type(failure).__name__}: {failure}"
        persist(partial(queue.release_claim, run, fault=fault, host_failed=host_failed))
        return False
    except BaseException:  # the worker is stopped: no fault, and the run is free immediately
        queue.release_claim(run)
        raise
    finally:
        heartbeat.drop(run)


def _attack_run(run: AnyRun) -> dict[str, int]:
    """Return the key of the attack run that decides what is requested next; none after a repeated run."""
    if isinstance(run, RepeatRun):
        return {}
    return {"attack_run": run.pk if isinstance(run, AttackRun) else run.attack_run_id}
