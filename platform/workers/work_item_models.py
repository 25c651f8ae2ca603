"""Rows of work that wait in a queue: claimed under a fence, and tried again after a platform error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Q, QuerySet

from competitions.models import Entry
from core import clock
from workers.fault_record import MAX_FAULTS, FaultRecord
from workers.lease import Leased
from workers.models import Priority


class WorkItem(Leased):
    """A row of work. Each claim raises `fence`; only the holder of the newest fence may write a result.

    Its table has two more columns: `entry`, the team whose share of the workers it uses (None for none), and `worker`.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        CLAIMED = "claimed", "claimed"
        PLAYED = "played", "played"
        FAILED = "failed", "failed"

    NO_FAULTS: ClassVar[Mapping[str, Any]] = {"faults": 0, "host_faults": 0, "fault_hosts": {}, "paused_until": None}
    """The columns of a row that starts again."""

    NO_WORKER: ClassVar[Mapping[str, Any]]
    """The columns of a row that no worker holds."""

    STUCK: ClassVar = Q(faults__gte=MAX_FAULTS) | Q(host_faults__gte=MAX_FAULTS)
    """Waiting rows that would have been given up, but for the hosts."""

    entry_id: int | None

    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    priority = models.PositiveSmallIntegerField(choices=Priority.choices, default=Priority.BOARD)
    queued_at = models.DateTimeField(default=clock.now)
    """Its place in the queue: the time of its request, or later if other requests may go first meanwhile."""
    claimed_at = models.DateTimeField(null=True, blank=True)
    fence = models.PositiveIntegerField(default=0)
    paused_until = models.DateTimeField(null=True, blank=True)
    """It waits at least until then after a fault."""
    faults = models.PositiveSmallIntegerField(default=0)
    """Number of platform errors on it that count: faults raised and expired leases."""
    host_faults = models.PositiveSmallIntegerField(default=0)
    """Number of times that its worker's host failed, which does not count."""
    fault_hosts = models.JSONField(default=dict, blank=True)
    """The faults that count, by the name of the host."""

    class Meta:
        abstract = True

    @property
    def fault_record(self) -> FaultRecord:
        """The faults on it so far."""
        return FaultRecord(self.faults, self.host_faults, self.fault_hosts)

    def held(self) -> QuerySet[Self]:
        """Return this row, or nothing if the claim with this fence is lost."""
        return super().held().filter(fence=self.fence)


class HostedItem(WorkItem):
    """A row of work that names its worker, so that it outlives the worker's own row."""

    NO_WORKER: ClassVar = {"worker": ""}

    entry = models.ForeignKey(Entry, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    """The team whose share of the workers it uses; None for work of no team."""
    worker = models.CharField(max_length=120, blank=True)

    class Meta:
        abstract = True

    @property
    def holder(self) -> str:
        return self.worker
