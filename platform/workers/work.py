"""What an app adds so that workers play its work: a kind of items with a table and a queue of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from django.db.models import Q

from workers.fault_record import Retried
from workers.models import Priority, Worker

Claim = TypeVar("Claim")
"""An item of the kind that a worker holds, with what is needed to play it."""


class Turn(NamedTuple):
    """A team that has work waiting, None for work of no team, and the oldest of it."""

    priority: int
    entry: int | None
    queued_at: datetime
    low_priority: bool = False

    @property
    def items(self) -> Q:
        """Which items belong to it: a round belongs to no team."""
        of_priority = Q(priority=self.priority)
        return of_priority if self.priority == Priority.ROUND else of_priority & Q(entry=self.entry)


class Held(NamedTuple):
    """Work that a worker holds now: its team, since when, and the end of its lease."""

    priority: int
    entry: int | None
    since: datetime | None
    until: datetime | None = None


class Session(Protocol[Claim]):
    """Players that keep running from one item to the next."""

    def play(self, claim: Claim) -> None:
        """Play a claimed item and commit the result.

        Errors of players are part of it. Raise `LostClaimError` if another worker holds the item, and anything else
        for a platform error.
        """

    def claim_next(self) -> Claim | None:
        """Claim the next item of the running players; return None if none waits."""


class Work(ABC, Generic[Claim]):
    """A kind of work. Its items are rows of `Retried`; each call is one step of the queue or of a worker.

    A worker claims with `turns` and `claim`, plays with `session`, and ends what it could not commit with `release`.
    """

    name: ClassVar[str]
    """Name of the kind in the log: "pieces"."""

    @abstractmethod
    def waits(self) -> bool:
        """Return True if an item waits that some worker may claim now."""

    @abstractmethod
    def turns(self, worker: Worker, now: datetime) -> list[Turn]:
        """Return the teams with items that `worker` may claim; of each priority and team one turn."""

    @abstractmethod
    def claim(self, worker: Worker, turn: Turn, now: datetime) -> Claim | None:
        """Claim the first item of a turn; return None if other workers have taken all of them meanwhile."""

    @abstractmethod
    def held(self) -> list[Held]:
        """Return what workers hold now; at most one per worker."""

    @abstractmethod
    def row(self, claim: Claim) -> Retried:
        """Return the row of a claimed item, whose lease is renewed."""

    @abstractmethod
    def longest(self, claim: Claim) -> timedelta:
        """Return how long a worker may hold the item at most: beyond it the worker hangs."""

    @abstractmethod
    def session(self, claim: Claim) -> AbstractContextManager[Session[Claim]]:
        """Return the session that plays a claimed item."""

    @abstractmethod
    def log_ids(self, claim: Claim) -> dict[str, int]:
        """Return the ids of log lines about the item."""

    @abstractmethod
    def release(self, claim: Claim, *, fault: str = "", host_failed: bool = False) -> bool:
        """Return a claimed item to the queue without a result; return False if the claim is lost.

        `fault` counts against the item, unless `host_failed`.
        """

    @abstractmethod
    def expire(self) -> int:
        """Return the items of workers without a heartbeat to the queue, each with a fault; return how many."""


kinds: list[Work[Any]] = []
"""All kinds of work; apps add theirs in `AppConfig.ready`."""
