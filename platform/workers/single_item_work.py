"""Kinds of work whose items are played one at a time, each by itself: no player stays for the next one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, Generic

from django.db import transaction
from django.db.models import Min, QuerySet

from core import clock
from core.database_retry import persist
from workers.lease import Heartbeat, LostClaimError
from workers.models import Worker
from workers.sandboxes import Sandbox, StoppableSandbox, stoppable_sandbox
from workers.team_queue_order import charge
from workers.work_item_models import WorkItem
from workers.work_item_queue import Item, ItemQueue, take
from workers.work_kind_interface import Held, PlaySession, Turn


class RowWork(ItemQueue[Item, Item], Generic[Item]):
    """A kind of work in which a claimed row is all that is needed to play it."""

    @abstractmethod
    def playable(self) -> QuerySet[Item]:
        """Return the rows whose work may go on, in any state, with what is needed to play them."""

    @abstractmethod
    def play(self, item: Item, sandbox: Sandbox) -> Mapping[str, Any]:
        """Play a claimed row in `sandbox`; return the columns of its result. Raise anything for a platform error."""

    def committed(self, item: Item, result: Mapping[str, Any]) -> None:
        """Store what else follows from a result, in the transaction that stores it; nothing for most kinds."""
        return

    def waiting(self, now: datetime) -> QuerySet[Item]:
        """Return the rows that may be claimed."""
        return self.playable().filter(state=WorkItem.State.WAITING).exclude(paused_until__gt=now)

    def waiting_for(self, worker: Worker, now: datetime) -> QuerySet[Item]:
        """Return those that this worker may claim: all, unless a kind has items that need a device."""
        return self.waiting(now)

    def waits(self) -> bool:
        return self.waiting(clock.database_now()).exists()

    def turns(self, worker: Worker, now: datetime) -> list[Turn]:
        rows = self.waiting_for(worker, now).order_by().values_list("priority", "entry")
        return [Turn(*row) for row in rows.annotate(oldest=Min("queued_at"))]

    def claimable(self, worker: Worker, now: datetime) -> Sequence[QuerySet[Any]]:
        return [self.waiting_for(worker, now)]

    def claim(self, worker: Worker, turn: Turn, now: datetime) -> Item | None:
        rows = self.waiting_for(worker, now).filter(turn.items).order_by("queued_at", "pk")
        return next((row for row in rows.iterator() if take(row, now, worker=worker.name)), None)

    def row(self, claim: Item) -> Item:
        return claim

    @contextmanager
    def session(self, claim: Item, heartbeat: Heartbeat) -> Iterator[PlaySession[Item]]:
        yield _RowSession(self, stoppable_sandbox())

    def log_ids(self, claim: Item) -> dict[str, int]:
        return {}

    def given_up(self, item: Item, reason: str) -> None:
        """Do nothing: what needs the row waits for an organiser."""


class _RowSession(Generic[Item]):
    """One row."""

    def __init__(self, work: RowWork[Item], sandbox: StoppableSandbox) -> None:
        self._work = work
        self._sandbox = sandbox

    def play(self, claim: Item) -> None:
        persist(partial(self._commit, claim, self._work.play(claim, self._sandbox)))

    def stop(self) -> None:
        self._sandbox.stop()

    def claim_next(self) -> Item | None:
        return None

    def _commit(self, claim: Item, result: Mapping[str, Any]) -> None:
        with transaction.atomic():
            if not claim.release(state=WorkItem.State.PLAYED, **result):
                raise LostClaimError(f"{claim} was lost")
            self._work.committed(claim, result)
            charge(Held(claim.priority, claim.entry_id, claim.claimed_at), clock.database_now())
