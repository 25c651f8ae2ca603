"""The queue of workers: which item of any kind is claimed next."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from core import clock, platform_error_report
from workers.lease import BEAT_SECONDS, Leased
from workers.models import Worker
from workers.selectors import live_workers
from workers.team_queue_order import PLAY, in_order
from workers.work_item_models import WorkItem
from workers.work_item_queue import with_items
from workers.work_kind_interface import Role, Work, kinds, kinds_of

log = logging.getLogger(__name__)

MISSED_BEATS = 3
"""Number of missed heartbeats after which a worker is probably dead."""


@dataclass(frozen=True)
class Claimed:
    """An item that a worker holds, and its kind."""

    kind: Work[Any]
    claim: Any


def claim(worker: Worker, role: Role = PLAY) -> Claimed | None:
    """Claim the next item for `worker`, which has a role; return None if nothing waits that it can play.

    One order over all kinds of the role: rounds, then leaderboards, then what is unranked; then the team that
    `workers.fair_share` serves first, then what has waited longest. Where nothing waits, the work of lost workers is
    returned to the queue, and claimed.
    """
    found = _claim_first(worker, role)
    return _claim_first(worker, role) if found is None and _expire(kinds_of(role)) else found


def _claim_first(worker: Worker, role: Role) -> Claimed | None:
    now = clock.database_now()
    turns = [(kind, turn) for kind in _waiting_kinds(role) for turn in kind.turns(worker, now)]
    for kind, turn in in_order(turns, now, role):
        found = kind.claim(worker, turn, now)  # None if others claim all of it at this moment
        if found is not None:
            return Claimed(kind, found)
    return None


def _waiting_kinds(role: Role) -> list[Work[Any]]:
    """Return the kinds of `role` in which something may wait."""
    return _kinds_with(WorkItem.State.WAITING, kinds_of(role))


def _kinds_with(state: WorkItem.State, some: Iterable[Work[Any]]) -> list[Work[Any]]:
    """Return those of `some` kinds in which an item may have `state`."""
    asked = list(some)
    found = with_items(state, (table for kind in asked for table in kind.tables))
    return [kind for kind in asked if not kind.tables or not found.isdisjoint(kind.tables)]


def anything_waits(worker: Worker | None = None) -> bool:
    """Return True if `worker` (None: any worker) may claim something to play now."""
    if worker is None:
        return any(kind.waits() for kind in _waiting_kinds(PLAY))
    now = clock.database_now()
    return any(kind.turns(worker, now) for kind in _waiting_kinds(PLAY))


def idle_workers() -> int:
    """Return how many live workers play nothing: they hold nothing, or have missed their last heartbeats."""
    renewed = clock.database_now() - timedelta(seconds=MISSED_BEATS * BEAT_SECONDS)
    held = (each.until for kind in _kinds_with(WorkItem.State.CLAIMED, kinds_of(PLAY)) for each in kind.held())
    playing = sum(1 for until in held if until is not None and until > renewed + Leased.LEASE)
    return max(0, live_workers().count() - playing)


def expire() -> int:
    """Return the items of workers without a heartbeat to the queue, each with a fault; return how many.

    A kind that fails is reported and does not stop the others.
    """
    return _expire(kinds)


def take_back() -> int:
    """Take the items that nobody needs any more from their workers, which stop; return how many, as `expire`."""
    return _sum_of(kinds, lambda kind: kind.take_back(), "%s that nobody needs cannot be taken from their workers")


def _expire(some: Iterable[Work[Any]]) -> int:
    held = _kinds_with(WorkItem.State.CLAIMED, some)
    return _sum_of(held, lambda kind: kind.expire(), "expired %s cannot be returned to the queue")


def _sum_of(some: Iterable[Work[Any]], act: Callable[[Work[Any]], int], problem: str) -> int:
    changed = 0
    for kind in some:
        try:
            changed += act(kind)
        except Exception as error:
            platform_error_report.report(log, error, problem, kind.name)
    return changed
