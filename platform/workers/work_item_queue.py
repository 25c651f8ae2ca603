"""The part of a queue that is the same for every kind of `WorkItem`: claims, leases, faults, pauses and ends.

Every change of a state is one conditional UPDATE, so that no item is played or counted twice.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db import connection, transaction
from django.db.models import QuerySet

from accounts.models import User
from core import clock, event_log, platform_error_report, worker_notifications
from core.errors import Refusal
from workers.fault_record import columns_after
from workers.models import Worker
from workers.team_queue_order import PLAY, charge_all
from workers.work_item_models import WorkItem
from workers.work_kind_interface import Claim, Held, Work
from workers.worker_name import host_of

Item = TypeVar("Item", bound=WorkItem)

log = logging.getLogger(__name__)


def take(item: WorkItem, now: datetime, **worker: Any) -> bool:
    """Give a waiting item to a worker (the columns `worker`); return False if another one was faster."""
    claimed = {
        **worker,
        "state": WorkItem.State.CLAIMED,
        "fence": item.fence + 1,
        "claimed_at": now,
        "lease_until": now + item.LEASE,
        "paused_until": None,
    }
    free = type(item)._default_manager.filter(pk=item.pk, state=WorkItem.State.WAITING, fence=item.fence)
    if not free.update(**claimed):
        return False
    for name, value in claimed.items():
        setattr(item, name, value)
    return True


def with_items(state: WorkItem.State, tables: Iterable[type[WorkItem]]) -> set[type[WorkItem]]:
    """Return those of `tables` in which an item has `state`; one probe of each index.

    In one query, since Django takes longer to build a query than a database to find that nothing has it. In the order
    of the queue's index: without one PostgreSQL reads the table for the first such row, and many done ones come before.
    """
    asked = list(tables)
    if not asked:
        return set()
    quote = connection.ops.quote_name
    each = "(SELECT 1 FROM {} WHERE state = %s ORDER BY priority LIMIT 1)"
    probes = ", ".join(each.format(quote(table._meta.db_table)) for table in asked)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {probes}", [state.value] * len(asked))
        found = cursor.fetchone()
    return {table for table, one in zip(asked, found, strict=True) if one}


def requeue_failed(items: QuerySet[Any]) -> int:
    """Put those of `items` that were given up back into the queue, without their faults; return how many."""
    return items.filter(state=WorkItem.State.FAILED).update(state=WorkItem.State.WAITING, **WorkItem.NO_FAULTS)


def take_from_workers(items: Sequence[WorkItem]) -> None:
    """Let held items wait, which are locked, and count the time until now against their teams."""
    if not items:
        return
    for table in dict.fromkeys(type(item) for item in items):
        free = {"state": WorkItem.State.WAITING, "lease_until": None, **table.NO_WORKER}
        table._default_manager.filter(pk__in=[item.pk for item in items if type(item) is table]).update(**free)
    charge_all((Held(item.priority, item.entry_id, item.claimed_at) for item in items), clock.database_now())


class ItemQueue(Work[Claim], Generic[Claim, Item]):
    """A kind of work whose items are rows of `WorkItem`."""

    role = PLAY

    tables: Sequence[type[Item]]

    @abstractmethod
    def claimable(self, worker: Worker, now: datetime) -> Sequence[QuerySet[Any]]:
        """Return the items that `worker` may claim, of each table."""

    @abstractmethod
    def row(self, claim: Claim) -> Item:
        """Return the row of a claimed item."""

    def fault_columns(self, fault: str) -> dict[str, Any]:
        """Return the columns of the kind that keep the text of the last fault."""
        return {}

    @abstractmethod
    def given_up(self, item: Item, reason: str) -> None:
        """Do what follows for the kind when an item is given up; `reason` follows "given up". In its transaction."""

    def needless(self) -> QuerySet[Item]:
        """Return the items whose results nobody needs any more, in any state; none for most kinds."""
        return self.tables[0]._default_manager.none()

    def held(self) -> list[Held]:
        rows: list[tuple[Any, ...]] = []
        for table in self.tables:
            claimed = table._default_manager.filter(state=WorkItem.State.CLAIMED).order_by()
            rows += claimed.values_list("priority", "entry_id", "claimed_at", "lease_until")
        return [Held(*row) for row in rows]

    def release(self, claim: Claim, *, fault: str = "", host_failed: bool = False) -> bool:
        item = self.row(claim)
        if fault and not host_failed:
            return self._count_fault(item, fault, expired=False)
        columns: dict[str, Any] = {}
        if host_failed:
            record = item.fault_record.after_host_fault()
            columns = columns_after(record, clock.database_now(), pause_first=False) | self.fault_columns(fault)
        return item.release(state=WorkItem.State.WAITING, **item.NO_WORKER, **columns)

    def take_back(self) -> int:
        held = self.needless().filter(state=WorkItem.State.CLAIMED).order_by("pk")
        if not held.exists():
            return 0
        with transaction.atomic():
            # one that is just being committed is locked, and stays
            items = list(held.select_for_update(skip_locked=True, of=("self",)))
            take_from_workers(items)
        return len(items)

    def expire(self) -> int:
        return sum(self._expire(item) for table in self.tables for item in table.expired(self._claimed(table)))

    def replay(self, item: Item, by: User | None, reason: str = "") -> None:
        """Put an item that was given up back into the queue. Raise `Refusal` for any other."""
        with transaction.atomic():
            if not requeue_failed(type(item)._default_manager.filter(pk=item.pk)):
                raise Refusal(f"{item} has not failed", fix="no action needed")
            event_log.record("replay", item, by=by, reason=reason)
            worker_notifications.notify("workers.play")

    def retry_now(self, item: Item, by: User, reason: str = "") -> None:
        """Forget the faults on a waiting item, so that it is claimed next. Raise `Refusal` for one without any."""
        with transaction.atomic():
            self._require_faulty(item).update(**WorkItem.NO_FAULTS)
            event_log.record("retry_now", item, by=by, reason=reason)
            worker_notifications.notify("workers.play")

    def give_up(self, item: Item, by: User, reason: str = "") -> None:
        """Give up a waiting item. Raise `Refusal` for one without faults."""
        with transaction.atomic():
            self._require_faulty(item).update(state=WorkItem.State.FAILED)
            event_log.record("give_up", item, by=by, reason=reason)
            self.given_up(item, f"by an organiser: {reason}")

    def _claimed(self, table: type[Item]) -> QuerySet[Item]:
        return table._default_manager.filter(state=WorkItem.State.CLAIMED)  # the state has an index

    def _expire(self, item: Item) -> bool:
        """Return an item whose lease expired to the queue. A failure is reported and does not stop the others."""
        try:
            return self._count_fault(item, f"no heartbeat from {item.holder or 'its worker'}", expired=True)
        except Exception as error:
            platform_error_report.report(log, error, "%s cannot be returned to the queue", item)
            return False

    def _count_fault(self, item: Item, fault: str, *, expired: bool) -> bool:
        """Return `item` (as read while claimed) to the queue, or give it up; return False if the claim has changed.

        Without a pause after the first lease that expires: the worker was probably stopped.
        """
        host = host_of(item.holder)
        record = item.fault_record.after_fault(host)
        claimed = item.held_but_expired() if expired else item.held()
        with transaction.atomic():
            returned = claimed.update(
                state=WorkItem.State.FAILED if record.is_given_up else WorkItem.State.WAITING,
                lease_until=None,
                **item.NO_WORKER,
                **columns_after(record, clock.database_now(), pause_first=not expired),
                **self.fault_columns(fault),
            )
            if not returned:
                return False
            event_log.record("fault", item, reason=fault, faults=record.faults, host=host)
            if record.is_given_up:
                hosts = ", ".join(record.hosts or {})
                self.given_up(item, f"after {record.faults} platform errors on {hosts}; the last: {fault}")
        if record.is_given_up:
            log.error("%s was given up after %s platform errors; the last: %s", item, record.faults, fault)
        return True

    def _require_faulty(self, item: Item) -> QuerySet[Any]:
        """Return the row of a waiting item that had a fault, locked. Raise `Refusal` for any other."""
        rows = type(item)._default_manager.filter(pk=item.pk)
        waiting = rows.filter(state=WorkItem.State.WAITING).exclude(faults=0, host_faults=0)
        if waiting.select_for_update(of=("self",)).first() is None:
            raise Refusal(f"{item} does not wait after a fault", fix="choose one that waits and had faults")
        return rows
