"""Results that a second host repeated: recorded, judged, and a host that differs is drained.

A drained host takes no work until an operator puts it back into service. What it played is listed for rejudging.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence

from django.db import transaction

from accounts.models import User
from competitions.models import Entry
from core import clock, event_log
from core.errors import Refusal
from workers.differing_host_statistics import ALPHA, ComparedPair, HostVerdict, judge
from workers.models import Host, HostComparison, Worker
from workers.worker_name import host_of

MOST = 5000
"""Number of comparisons that a test reads, the newest."""

log = logging.getLogger(__name__)


def sums(
    results: Iterable[tuple[str, int, int]], *, subject: object, player: str, entry: Entry | None, repeated_on: str
) -> list[HostComparison]:
    """Return a row for each host that gave `results`: its name, how many `repeated_on` gave too, how many differ.

    Results of an unknown host, "", are left out. `player` is the digest of the model, and `entry` its team's.
    """
    compared, unequal = Counter[str](), Counter[str]()
    for name, given, differing in results:
        compared[name] += given
        unequal[name] += differing
    now = clock.database_now()  # compared with the time at which an operator returns a host
    return [
        HostComparison(
            at=now, subject=str(subject)[:80], player=player, entry=entry,
            played_on=name, repeated_on=repeated_on, compared=compared[name], unequal=unequal[name],
        )
        for name in compared
        if name
    ]  # fmt: skip


def record(found: Sequence[HostComparison]) -> None:
    """Store comparisons, without those of a host with itself, and drain a host that differs beyond chance."""
    rows = HostComparison.objects.bulk_create(each for each in found if each.compared and len(each.hosts) == 2)
    for row in rows:
        if _value(row).differs:
            _judge(row)


def drain(worker: Worker, by: User, reason: str) -> None:
    """Take the host of a worker out of service, as an operator decides, until an operator returns it.

    What its workers hold is finished. Raise `Refusal` if it is drained already.
    """
    name = host_of(worker.name)
    with transaction.atomic():
        host, _ = Host.objects.get_or_create(name=name)
        begun = Host.objects.filter(pk=host.pk).exclude(out_since__isnull=False, check_due_at=None)
        if not begun.update(out_since=clock.now(), problem=f"drained: {reason}", check_due_at=None):
            raise Refusal(f"{name} is already drained", fix="no action needed")
        event_log.record("drain", host, by=by, reason=reason)


def return_to_service(host: Host, by: User, reason: str) -> None:
    """Let a drained host check itself and take work again; its earlier comparisons count no more.

    Raise `Refusal` for a host that is not drained.
    """
    now = clock.database_now()  # the host compares with it, and so do comparisons by other ones
    with transaction.atomic():
        drained = Host.objects.filter(pk=host.pk, out_since__isnull=False, check_due_at=None)
        if not drained.update(check_due_at=now, compared_from=now, failed_checks=0):
            raise Refusal(
                f"{host} is not drained", fix="choose a drained host: one that failed a check returns by itself"
            )
        event_log.record("return_host", host, by=by, reason=reason)


def _judge(newest: HostComparison) -> None:
    hosts = {host.name: host for host in Host.objects.all()}
    if any(name in hosts and hosts[name].is_drained for name in newest.hosts):
        return  # known already
    rows = [row for row in HostComparison.objects.all()[:MOST] if all(_counts(row, hosts.get(n)) for n in row.hosts)]
    found = judge([_value(row) for row in rows], _value(newest))
    if found is None:
        return
    if len(found.hosts) == 1:
        _drain(found)
    else:
        log.error(
            "%s and %s give different results (p < %s), and which of them is wrong is not known: let a third host "
            "play, and see Host comparisons in the admin",
            *found.hosts,
            ALPHA,
        )


def _counts(row: HostComparison, host: Host | None) -> bool:
    """Return True if a comparison with this host counts: it is not drained, and no operator has returned it since."""
    return host is None or not (host.is_drained or (host.compared_from is not None and row.at < host.compared_from))


def _drain(found: HostVerdict) -> None:
    """Take a host out of service until an operator returns it; recorded once, however many comparisons show it."""
    now, (name,) = clock.database_now(), found.hosts  # compared with the times of claims
    problem = (
        f"its labels or distances differ from those of other hosts beyond chance (p < {ALPHA}): check its memory "
        "and processors, then choose Return to service"
    )
    with transaction.atomic():
        host, _ = Host.objects.get_or_create(name=name)
        # a host that failed a check is drained, too: no check puts it back
        begun = Host.objects.filter(pk=host.pk).exclude(out_since__isnull=False, check_due_at=None)
        drained = begun.update(out_since=now, problem=problem, check_due_at=None, doubtful_until=now)
        if drained:
            event_log.record("drain_host", host, reason=problem, p=found.p)
    if drained:
        log.error("%s is drained: %s", host, problem)


def _value(row: HostComparison) -> ComparedPair:
    return ComparedPair(row.hosts, row.player, row.entry_id, row.compared, row.unequal)
