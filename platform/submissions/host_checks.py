"""Whether this host may take work: it is out of service from a failed check until a check of it succeeds.

A check starts control players in the sandboxes of this process, writes a file where results are kept, and asks the
builder. All worker processes of one name share the state: it is a row, and each check in it is made by one of them.
"""

from __future__ import annotations

import logging
import time
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, transaction

from core import clock, events, faults, object_store
from core.errors import Fault, Refusal
from core.worker_slot import device_of, slot
from evaluation.domain.errors import HostFault
from submissions import player_builds
from submissions.models import Host
from submissions.sandboxes import open_sandbox, opened_sandboxes, resources

CHECK_STARTS = 5
"""How many control players must answer in a row: a sandbox that fails half of the time passes one check in 32."""

PAUSES = (timedelta(seconds=10), timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=5))
"""How long a host waits after its first, second, ... failed check in a row; after further ones as after the last."""

_LOOK_SECONDS = 1.0

log = logging.getLogger(__name__)


def in_service() -> bool:
    """Whether this host may take work now. One that is out of service checks itself where a check is due."""
    host = Host.objects.filter(name=settings.WORKER_NAME, out_since__isnull=False).first()
    if host is not None:
        return _begin_check(host) and _resume_or_wait(host)
    try:
        open_sandbox()
    except (Fault, OSError) as problem:
        _suspend(str(problem), problem)
        return False
    return True


def wait_for_service(seconds: float) -> bool:
    """Wait `seconds` at most until this host may take work; whether it may."""
    ends = time.monotonic() + seconds
    while not in_service():
        if time.monotonic() + _LOOK_SECONDS > ends:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def check_after(failure: BaseException) -> bool:
    """Check this host after something of ours failed on it; False where it is out of service from now on.

    A host that certainly failed is so even if it passes: a sandbox that fails now and then would pass many checks.
    """
    found = _problem()
    if found is not None:
        problem = str(found) or type(found).__name__
    else:
        problem = "it failed now and then" if isinstance(failure, HostFault) else ""
    if problem:
        try:
            _suspend(f"{problem} (checked after: {type(failure).__name__}: {failure})", found)
        except DatabaseError as error:  # its files may lie on the same full disk
            faults.report(log, error, "it could not be noted that %s takes no work: %s", settings.WORKER_NAME, problem)
    return not problem


def _problem() -> Exception | None:
    """What is wrong with this host, found by trying; None where nothing is."""
    try:
        object_store.check()
        device = device_of(slot())
        for sandbox in opened_sandboxes():
            sandbox.prove(resources(device), gpu=device is not None, starts=CHECK_STARTS)
            sandbox.sweep()
        player_builds.check_host()
    except (Fault, Refusal, OSError) as problem:
        return problem
    return None


def _begin_check(host: Host) -> bool:
    """Take the check that is due, for all processes of this name; False where none is, or another one has it."""
    now = clock.now()
    due = Host.objects.filter(
        pk=host.pk, out_since__isnull=False, check_due_at__lte=now, failed_checks=host.failed_checks
    )
    # as if it had failed: a process that dies in mid-check leaves the next one due
    return due.update(failed_checks=host.failed_checks + 1, check_due_at=now + _pause(host.failed_checks)) == 1


def _resume_or_wait(host: Host) -> bool:
    problem = _problem()
    with transaction.atomic():
        out = Host.objects.filter(pk=host.pk, out_since__isnull=False)
        if problem is not None:
            out.update(problem=str(problem))
        elif out.update(out_since=None, check_due_at=None, failed_checks=0):
            events.record("resume_host", host, out_since=str(host.out_since), failed_checks=host.failed_checks)
            log.warning("%s is in service again: its control players answer", host)
    return problem is None


def _suspend(problem: str, error: Exception | None) -> None:
    """Take this host out of service. It is told once, however many processes and pieces meet the same trouble."""
    now = clock.now()
    with transaction.atomic():
        host, _ = Host.objects.get_or_create(name=settings.WORKER_NAME)
        begun = Host.objects.filter(pk=host.pk, out_since=None).update(
            out_since=now, problem=problem, check_due_at=now + _pause(0), failed_checks=1
        )
        if begun:
            events.record("suspend_host", host, reason=problem)
    if begun:
        log.error("%s takes no work until a check of it succeeds: %s", host, problem, exc_info=error)


def _pause(failed_checks: int) -> timedelta:
    return PAUSES[min(failed_checks, len(PAUSES) - 1)]
