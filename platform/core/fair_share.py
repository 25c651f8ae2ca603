"""Which work comes next where teams share workers: the rule of both queues, of pieces and of builds. Pure functions.

The team with the fewest workers at the moment is served first; of several, the one that used workers least in the last
hour. A team of low priority comes after the others, and one that used more than its limit in a day after all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

RECENT = timedelta(hours=1)
"""The time over which teams with equally many workers are compared."""

DAY = timedelta(hours=24)
"""The rolling window of a team's limit."""


class Use(NamedTuple):
    """What a team has of the workers: how many now, and how many seconds of them in the last hour and the last day."""

    running: int = 0
    recent: float = 0.0
    day: float = 0.0


NOTHING = Use()


class Precedence(NamedTuple):
    """A team's place among others: the smallest is served first."""

    over_limit: bool
    gives_way: bool
    running: int
    recent: float


class Waiting(NamedTuple):
    """Something that waits for a worker, by its key, and the team that it is done for."""

    key: int
    team: int
    gives_way: bool = False


def precedence(use: Use, *, limit: float, gives_way: bool = False) -> Precedence:
    """The place of a team with `use` of the workers; `limit`: how many seconds of them are its share of a day."""
    return Precedence(use.day >= limit, gives_way, use.running, use.recent)


def round_robin(waiting: Iterable[Waiting], uses: Mapping[int, Use], *, limit: float) -> list[int]:
    """The keys of what waits, given oldest first, in the order in which it is served while nothing else changes."""
    queues: dict[int, list[tuple[int, Waiting]]] = {}
    for age, each in enumerate(waiting):
        queues.setdefault(each.team, []).append((age, each))
    served = dict.fromkeys(queues, 0)

    def place(team: int) -> tuple[Precedence, int]:
        age, first = queues[team][served[team]]
        use = uses.get(team, NOTHING)
        use = use._replace(running=use.running + served[team])
        return precedence(use, limit=limit, gives_way=first.gives_way), age

    order = []
    while queues:
        team = min(queues, key=place)
        order.append(queues[team][served[team]][1].key)
        served[team] += 1
        if served[team] == len(queues[team]):
            del queues[team]
    return order
