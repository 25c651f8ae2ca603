"""Fair scheduling of pieces and builds between teams, as pure functions.

The team with the fewest workers is served first; ties go to the team that used workers least in the last hour. Teams
with low priority come after the others. Teams above their daily limit come last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

RECENT = timedelta(hours=1)
"""Period over which teams with equally many workers are compared."""

DAY = timedelta(hours=24)
"""Rolling window of a team's limit."""


class Use(NamedTuple):
    """A team's use of workers: running now, and seconds in the last hour and the last day."""

    running: int = 0
    recent: float = 0.0
    day: float = 0.0


NOTHING = Use()


class Precedence(NamedTuple):
    """Sort key of a team: the smallest is served first."""

    over_limit: bool
    low_priority: bool
    running: int
    recent: float


class Waiting(NamedTuple):
    """Work that waits for a worker: its key and its team."""

    key: int
    team: int
    low_priority: bool = False


def precedence(use: Use, *, limit: float, low_priority: bool = False) -> Precedence:
    """Return the sort key of a team with `use` of the workers; `limit`: worker seconds per day."""
    return Precedence(use.day >= limit, low_priority, use.running, use.recent)


def round_robin(waiting: Iterable[Waiting], uses: Mapping[int, Use], *, limit: float) -> list[int]:
    """Return the keys of the waiting work, given oldest first, in the order in which it will be served."""
    queues: dict[int, list[tuple[int, Waiting]]] = {}
    for age, each in enumerate(waiting):
        queues.setdefault(each.team, []).append((age, each))
    served = dict.fromkeys(queues, 0)

    def sort_key(team: int) -> tuple[Precedence, int]:
        age, first = queues[team][served[team]]
        use = uses.get(team, NOTHING)
        use = use._replace(running=use.running + served[team])
        return precedence(use, limit=limit, low_priority=first.low_priority), age

    order = []
    while queues:
        team = min(queues, key=sort_key)
        order.append(queues[team][served[team]][1].key)
        served[team] += 1
        if served[team] == len(queues[team]):
            del queues[team]
    return order
