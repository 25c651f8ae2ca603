"""Platform errors on one item of work: when it is tried again, and when it is given up.

Work is given up only after faults on two hosts, since one broken host could otherwise fail the work of everybody. On a
site with one host it waits, longer each time, until another host or an operator decides. A failure of the host itself
never counts; it only makes the work wait from the second one on, so that hosts do not fail one after another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

MAX_FAULTS = 3
"""Number of faults after which work is given up, if they were on different hosts."""

MIN_HOSTS = 2
"""Number of hosts on which it had a fault by then."""

PAUSES = (timedelta(seconds=10), timedelta(minutes=2), timedelta(minutes=10), timedelta(minutes=30))
"""Waiting time after the first, second, ... fault, in which an operator may fix the host; the last one repeats."""


@dataclass(frozen=True)
class FaultRecord:
    """The faults on a row of work so far."""

    faults: int = 0
    """Faults that count: errors on a host that passed its check, and expired leases."""
    host_faults: int = 0
    """Failures of hosts, which do not count."""
    hosts: Mapping[str, int] | None = None
    """The faults that count, by host."""

    @property
    def is_given_up(self) -> bool:
        """True after enough faults on enough hosts."""
        return self.faults >= MAX_FAULTS and len(self.hosts or {}) >= MIN_HOSTS

    def after_fault(self, host: str) -> FaultRecord:
        """Return the record after a fault on `host` that counts."""
        hosts = dict(self.hosts or {})
        hosts[host] = hosts.get(host, 0) + 1
        return FaultRecord(self.faults + 1, self.host_faults, hosts)

    def after_host_fault(self) -> FaultRecord:
        """Return the record after a failure of a host."""
        return FaultRecord(self.faults, self.host_faults + 1, self.hosts)

    def pause(self, *, first: bool) -> timedelta:
        """Return how long the work waits before the next claim; after the first failure only if `first`."""
        number = self.faults + self.host_faults - (0 if first else 1)
        return PAUSES[min(number, len(PAUSES)) - 1] if number > 0 else timedelta(0)


def columns_after(record: FaultRecord, now: datetime, *, pause_first: bool) -> dict[str, Any]:
    """Return the columns of a row with `record` that was returned to its queue at `now`."""
    pause = record.pause(first=pause_first)
    return {
        "faults": record.faults,
        "host_faults": record.host_faults,
        "fault_hosts": dict(record.hosts or {}),
        "paused_until": now + pause if pause and not record.is_given_up else None,
    }
