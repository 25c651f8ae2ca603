"""What an app adds so that workers play its work: a kind of items with a table and a queue of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from django.db.models import Q, QuerySet

from workers.lease import Heartbeat, Leased
from workers.models import Priority, Worker
from workers.work_item_models import WorkItem

Claim = TypeVar("Claim")
"""An item of the kind that a worker holds, with what is needed to play it."""


class Turn(NamedTuple):
    """A team that has work waiting, None for work of no team, and the oldest of it."""

    priority: int
    entry: int | None
    queued_at: datetime
    low_priority: bool = False
    claimable: Q = Q()
    """Which items the worker may claim that this turn was found for; all by default."""

    @property
    def items(self) -> Q:
        """Which items belong to it: a round belongs to no team."""
        of_priority = Q(priority=self.priority) & self.claimable
        return of_priority if self.priority == Priority.ROUND else of_priority & Q(entry=self.entry)


class Held(NamedTuple):
    """Work that a worker holds now: its team, since when, and the end of its lease."""

    priority: int
    entry: int | None
    since: datetime | None
    until: datetime | None = None


class PlaySession(Protocol[Claim]):
    """Players that keep running from one item to the next."""

    def play(self, claim: Claim) -> None:
        """Play a claimed item and commit the result.

        Errors of players are part of it. Raise `LostClaimError` if another worker holds the item, `StoppedError` after
        `stop`, and anything else for a platform error.
        """

    def stop(self) -> None:
        """End what runs for the claimed item, which is lost: `play` then ends soon. Called from another thread."""

    def claim_next(self) -> Claim | None:
        """Claim the next item of the running players; return None if none waits."""


@dataclass(frozen=True)
class Role:
    """What a worker is there for: some kinds of work, which share the workers of the role between the teams."""

    name: str
    """The name of the Celery queue that its workers consume."""
    limit: Callable[[], float]
    """Return the seconds that a team may use in a day before others are served first."""


class Work(ABC, Generic[Claim]):
    """A kind of work. Each call is one step of the queue or of a worker.

    A worker claims with `turns` and `claim`, plays with `session`, and ends what it could not commit with `release`.
    """

    name: ClassVar[str]
    """Name of the kind in the log: "pieces"."""

    role: ClassVar[Role]
    """The role of the workers that play it."""

    tables: Sequence[type[WorkItem]] = ()
    """The models of its items, if these are rows of `WorkItem`: where none of them waits, `turns` need not ask."""

    @abstractmethod
    def waits(self) -> bool:
        """Return True if an item waits that some worker may claim now."""

    @abstractmethod
    def turns(self, worker: Worker, now: datetime) -> list[Turn]:
        """Return the teams with items that `worker` may claim; of each priority and team one turn."""

    def claimable(self, worker: Worker, now: datetime) -> Sequence[QuerySet[Any]]:
        """Return the items that `worker` may claim, of each table; none if these are no rows of `WorkItem`."""
        return ()

    @abstractmethod
    def claim(self, worker: Worker, turn: Turn, now: datetime) -> Claim | None:
        """Claim the first item of a turn; return None if other workers have taken all of them meanwhile."""

    @abstractmethod
    def held(self) -> list[Held]:
        """Return what workers hold now; at most one per worker."""

    @abstractmethod
    def row(self, claim: Claim) -> Leased:
        """Return the row of a claimed item, whose lease is renewed."""

    @abstractmethod
    def longest(self, claim: Claim) -> timedelta:
        """Return how long a worker may hold the item at most: beyond it the worker hangs."""

    @abstractmethod
    def session(self, claim: Claim, heartbeat: Heartbeat) -> AbstractContextManager[PlaySession[Claim]]:
        """Return the session that plays a claimed item, whose lease `heartbeat` renews."""

    @abstractmethod
    def log_ids(self, claim: Claim) -> dict[str, int]:
        """Return the ids of log lines about the item."""

    def step(self, claim: Claim) -> str:
        """Return the name of the work on the item in traces."""
        return str(self.row(claim)._meta.verbose_name)

    def traced(self, claim: Claim) -> Sequence[int]:
        """Return the submissions in whose traces the work is: it is a step of the first, the others are linked."""
        return ()

    @abstractmethod
    def release(self, claim: Claim, *, fault: str = "", host_failed: bool = False) -> bool:
        """Return a claimed item to the queue without a result; return False if the claim is lost.

        `fault` counts against the item, unless `host_failed`.
        """

    def take_back(self) -> int:
        """Take the items that nobody needs any more from the workers that hold them; return how many.

        Their workers stop at the next heartbeat. The time until now counts against the share of the team.
        """
        return 0

    @abstractmethod
    def expire(self) -> int:
        """Return the items of workers without a heartbeat to the queue, each with a fault; return how many."""


kinds: list[Work[Any]] = []
"""All kinds of work; apps add theirs in `AppConfig.ready`."""


def kinds_of(role: Role) -> list[Work[Any]]:
    """Return the kinds of work that workers of `role` play."""
    return [kind for kind in kinds if kind.role is role]
