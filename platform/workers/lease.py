"""Leases: how one worker at a time holds a row of work, a piece or a build.

1. Claim: one conditional UPDATE, which only one of several workers wins, sets `lease_until`.
2. Heartbeat: a thread of the worker renews the lease while the work goes on.
3. Fence: the holder writes only by `held` and `release`, which find no row once the claim is lost.
4. Expiry: a sweep returns rows without a heartbeat to the queue. After a start of the database it waits for the time
   of a lease, in which workers renew what they held.

The clock of the database decides, so that no host's clock matters.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, ClassVar, Self

from django.db import Error, connection, models
from django.db.models import QuerySet
from django.db.models.lookups import LessThan

from core import clock

BEAT_SECONDS = 5.0
"""Interval of the renewals: at most a sixth of a lease, so that a few may be missed."""

log = logging.getLogger(__name__)


class LostClaimError(Exception):
    """The row is no longer held by this worker, so nothing was written."""


class Leased(models.Model):
    """A row that a worker holds while `lease_until` is set. A row that is claimed more than once adds its fence."""

    LEASE: ClassVar = timedelta(seconds=30)
    """Time that a row is held without a heartbeat."""

    lease_until = models.DateTimeField(null=True, blank=True)
    """End of the lease unless it is renewed; None while no worker holds the row."""

    class Meta:
        abstract = True

    @property
    def holder(self) -> str:
        """The name of the worker that holds it, or an empty string."""
        raise NotImplementedError

    def held(self) -> QuerySet[Self]:
        """Return this row, or nothing if the claim under which it was read is lost."""
        return type(self)._default_manager.filter(pk=self.pk, lease_until__isnull=False)

    def held_but_expired(self) -> QuerySet[Self]:
        """Return this row if its lease has expired, and was not renewed since the row was read."""
        return self.held().filter(lease_until__lt=clock.database_now())

    def renew(self, until: datetime | None = None) -> bool:
        """Renew the lease, before `until`, in one statement; return False if the claim is lost, or it is too late."""
        now = clock.database_time()
        held = self.held() if until is None else self.held().filter(LessThan(now, until))
        return held.update(lease_until=now + self.LEASE) == 1

    def release(self, **values: Any) -> bool:
        """Write `values` and end the lease; write nothing and return False if the claim is lost."""
        return self.held().update(lease_until=None, **values) == 1

    @classmethod
    def expired(cls, among: QuerySet[Self] | None = None) -> list[Self]:
        """Return the rows, all or `among` these, whose workers sent no heartbeat for the time of a lease.

        None of them while the database runs for less than that: nobody could send one while it was away.
        """
        rows = cls._default_manager.all() if among is None else among
        found = list(rows.filter(lease_until__lt=clock.database_now()))
        return [] if found and clock.database_started_within(cls.LEASE) else found


class Heartbeat:
    """A thread that renews the leases of the rows that this process holds, within a `with`."""

    def __init__(self, seconds: float = BEAT_SECONDS) -> None:
        self._seconds = seconds
        self._held: dict[tuple[type[Leased], int], tuple[Leased, datetime | None]] = {}
        self._also: list[Callable[[], None]] = []
        self._stopped = threading.Event()
        # with the log ids of its creator
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def hold(self, row: Leased, until: datetime | None = None) -> None:
        """Renew the lease of `row` from now on. Work that hangs is not renewed after `until`, so that it expires."""
        self._held[type(row), row.pk] = row, until

    def holds(self, row: Leased) -> bool:
        """Return False once the lease of `row` was lost or dropped."""
        return (type(row), row.pk) in self._held

    def require(self, row: Leased) -> None:
        """Raise `LostClaimError` once the lease of `row` was lost or dropped."""
        if not self.holds(row):
            raise LostClaimError(f"{row} was lost")

    @contextmanager
    def also(self, act: Callable[[], None]) -> Iterator[None]:
        """Do `act` with every beat in the block."""
        self._also.append(act)
        try:
            yield
        finally:
            self._also.remove(act)

    @contextmanager
    def once_lost(self, row: Leased, act: Callable[[], None]) -> Iterator[None]:
        """Do `act` in the block with each beat after which the lease of `row` is lost or dropped."""

        def look() -> None:
            if not self.holds(row):
                act()

        with self.also(look):
            yield

    def drop(self, row: Leased) -> None:
        """Stop renewing the lease of `row`."""
        self._held.pop((type(row), row.pk), None)

    def beat(self) -> None:
        """Renew the leases, and do what goes with a beat."""
        self.renew()
        for act in list(self._also):
            act()

    def renew(self) -> None:
        """Renew the leases; drop those that are lost or too old."""
        for row, until in list(self._held.values()):
            if not row.renew(until):
                if until is not None and clock.database_now() >= until:
                    log.error("%s is held longer than its work may take", row)
                self.drop(row)

    def _run(self) -> None:
        try:
            while not self._stopped.wait(self._seconds):
                try:
                    self._beat_on_any_connection()
                except Error:  # tried again with the next beat; if it continues, the leases expire
                    log.warning("a heartbeat was missed", exc_info=True)
                    connection.close()  # otherwise a broken connection stays broken
        finally:
            connection.close()

    def _beat_on_any_connection(self) -> None:
        """Beat, on another connection if the database has ended this one. To ask first would cost a statement each."""
        try:
            self.beat()
        except Error:
            connection.close()
            self.beat()
