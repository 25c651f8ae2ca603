"""How many jobs the waiting work needs, and one step towards it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from django.db.models import Q

from core import clock
from operations.launcher.launcher_interface import WorkerLauncher
from workers.models import Worker
from workers.selectors import hosts_out_of_service
from workers.team_queue_order import PLAY
from workers.work_kind_interface import kinds_of

WAITED = timedelta(seconds=5)
"""An item counts after so long: idle workers claim it earlier."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JobLimits:
    """The most jobs at a time, and the slots of each."""

    most: int
    slots: int


def jobs_to_start(*, waiting: int, running: int, pending: int, limits: JobLimits) -> int:
    """Return how many more jobs to ask for: one slot for each waiting item, without those that are asked for."""
    useful = ceil(waiting / limits.slots)
    return max(0, min(useful - pending, limits.most - running - pending))


def step(launcher: WorkerLauncher, limits: JobLimits, *, worker_class: str) -> str:
    """Start what is needed now, and cancel what waits for a place where no work is left; return what to say."""
    jobs = launcher.jobs()
    running = sum(job.running for job in jobs)
    pending = [job.number for job in jobs if not job.running]
    waiting = waiting_items(worker_class)
    if not waiting:
        if pending:
            launcher.cancel(pending)
        return f"no work is left: cancelled {', '.join(pending)}" if pending else ""
    # a job on a host whose check is due makes the check: nobody else could put the host back into service
    unfit = hosts_out_of_service()
    out = {host.name for host in unfit if not host.is_check_due}
    avoiding = [job for job in jobs if not job.running and job.without - out]
    # one job is enough for a check, and the others keep their places
    useless = [job for job in avoiding if job.without - {host.name for host in unfit}] or avoiding[:1]
    stale = [job.number for job in useless]
    if stale:
        launcher.cancel(stale)
    count = jobs_to_start(waiting=waiting, running=running, pending=len(pending) - len(stale), limits=limits)
    hosts = launcher.hosts() if count and out else set()
    if hosts and hosts <= out:
        return f"all hosts of the cluster are out of service, until a check is due: {', '.join(sorted(hosts))}"
    started = [launcher.start(without=sorted(hosts & out)) for _ in range(count)]
    if started:
        return f"{waiting} items wait: asked for the jobs {', '.join(started)}"
    reasons = sorted({job.reason for job in jobs if not job.running} - {""})
    return f"{len(pending)} jobs wait for the cluster: {', '.join(reasons)}" if reasons else ""


def waiting_items(worker_class: str) -> int:
    """Return how many items a worker of this class may claim, and idle ones have not claimed for some seconds."""
    now = clock.database_now()
    worker = Worker(name="launcher", worker_class=worker_class, device="0" if worker_class == Worker.Class.GPU else "")
    # what is to come after later requests has a place in the future, and is claimed now if there are none
    unclaimed = Q(queued_at__lte=now - WAITED) | Q(queued_at__gt=now)
    items = (rows for kind in kinds_of(PLAY) for rows in kind.claimable(worker, now))
    return sum(rows.filter(unclaimed).count() for rows in items)
