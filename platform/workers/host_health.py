"""Health checks of this host: a failed check takes it out of service until a later check succeeds.

A check compares the identity of the site, writes a result file, measures the speed, starts control players in the
sandboxes of this process and asks the apps above whether it can do their work. All worker processes of one name share
the state in one row, and one of them makes each check.
"""

from __future__ import annotations

import errno
import logging
import time
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, transaction

from core import clock, event_log, object_store, platform_error_report
from core.errors import Fault, Refusal
from core.site_identity import require_identity
from evaluation.domain.errors import HostFault
from workers import calibration
from workers.extension_points import host_checks
from workers.models import Host
from workers.sandboxes import open_sandbox, opened_sandboxes, resources
from workers.slot_device import device_of, slot

CHECK_STARTS = 5
"""Control players that must answer in a row: a sandbox that fails half of the time passes one check in 32."""

PAUSES = (timedelta(seconds=10), timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=5))
"""Waiting time after the first, second, ... failed check in a row; the last one repeats."""

_POLL_SECONDS = 1.0

log = logging.getLogger(__name__)


def in_service() -> bool:
    """Return True if this host may take work now. A host that is out of service checks itself when a check is due."""
    host = Host.objects.filter(name=settings.WORKER_NAME, out_since__isnull=False).first()
    if host is not None:
        return _begin_check(host) and _resume_or_wait(host)
    try:
        require_identity()  # the shared folder may have been unmounted since the start
        open_sandbox()
        calibration.require_fit()
    except (Fault, OSError) as problem:
        _suspend(str(problem), problem)
        return False
    return True


def may_claim() -> bool:
    """Return False if this host is out of service, also since the session of this process began."""
    return not Host.objects.filter(name=settings.WORKER_NAME, out_since__isnull=False).exists()


def may_claim_or_check() -> bool:
    """Return False if this host is out of service and no check of it is due."""
    host = Host.objects.filter(name=settings.WORKER_NAME, out_since__isnull=False).first()
    return host is None or host.is_check_due


def wait_for_service(seconds: float) -> bool:
    """Wait up to `seconds` until this host may take work; return True if it may.

    Not where no check is due by then, as of a drained host: messages that wake its idle slots would pile up meanwhile.
    """
    ends = time.monotonic() + seconds
    while not in_service():
        left = ends - time.monotonic() - _POLL_SECONDS
        if left < 0 or not _is_check_due_within(left):
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _is_check_due_within(seconds: float) -> bool:
    last = clock.database_now() + timedelta(seconds=seconds)
    out = Host.objects.filter(name=settings.WORKER_NAME, out_since__isnull=False)
    return not out.exclude(check_due_at__lte=last).exists()


def check_after(failure: BaseException) -> bool:
    """Check this host after a platform error; return False if it is out of service from now on.

    A `HostFault` and a full disk take it out even if the check passes: a sandbox that fails sometimes would pass many
    checks, and a disk has space again after the files of the failure are removed.
    """
    found = problem_of_host()
    if found is not None:
        problem = str(found) or type(found).__name__
    else:
        problem = "it fails sometimes" if isinstance(failure, HostFault) or _disk_was_full(failure) else ""
    if problem:
        try:
            _suspend(f"{problem} (checked after: {type(failure).__name__}: {failure})", found)
        except DatabaseError as error:  # the database may be on the same full disk
            platform_error_report.report(
                log, error, "cannot record that %s is out of service: %s", settings.WORKER_NAME, problem
            )
    return not problem


def _disk_was_full(failure: BaseException) -> bool:
    """Return True if the failure or one of its causes is the error of a full disk."""
    cause: BaseException | None = failure
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in {errno.ENOSPC, errno.EDQUOT}:
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def problem_of_host() -> Exception | None:
    """Return the problem that a check of this host finds; None if there is none."""
    try:
        require_identity()
        object_store.check()
        calibration.measure_again(most=1.0)
        calibration.require_fit()
        device = device_of(slot())
        for sandbox in opened_sandboxes():
            sandbox.prove(resources(device), gpu=device is not None, starts=CHECK_STARTS)
            sandbox.sweep()
        host_checks.answers()
    except (Fault, Refusal, OSError) as problem:
        return problem
    return None


def _begin_check(host: Host) -> bool:
    """Claim the due check for all processes of this name; return False if none is due or another process has it."""
    now = clock.database_now()
    due = Host.objects.filter(
        pk=host.pk, out_since__isnull=False, check_due_at__lte=now, failed_checks=host.failed_checks
    )
    # counted as failed in advance: if this process dies during the check, the next one is due
    return due.update(failed_checks=host.failed_checks + 1, check_due_at=now + _pause(host.failed_checks)) == 1


def _resume_or_wait(host: Host) -> bool:
    problem = problem_of_host()
    with transaction.atomic():
        out = Host.objects.filter(pk=host.pk, out_since__isnull=False)
        if problem is not None:
            out.update(problem=str(problem))
        elif out.filter(check_due_at__isnull=False).update(out_since=None, check_due_at=None, failed_checks=0):
            event_log.record("resume_host", host, out_since=str(host.out_since), failed_checks=host.failed_checks)
            log.warning("%s is in service again: its check passed", host)
    return problem is None


def _suspend(problem: str, error: Exception | None) -> None:
    """Take this host out of service; recorded once, however many processes see the problem."""
    now = clock.database_now()
    with transaction.atomic():
        host, _ = Host.objects.get_or_create(name=settings.WORKER_NAME)
        begun = Host.objects.filter(pk=host.pk, out_since=None).update(
            out_since=now, problem=problem, check_due_at=now + _pause(0), failed_checks=1
        )
        if begun:
            event_log.record("suspend_host", host, reason=problem)
    if begun:
        log.error("%s is out of service until a check succeeds: %s", host, problem, exc_info=error)


def _pause(failed_checks: int) -> timedelta:
    return PAUSES[min(failed_checks, len(PAUSES) - 1)]
