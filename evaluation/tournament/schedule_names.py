"""The schedules by name."""

from __future__ import annotations

from evaluation.tournament.halving import Halving
from evaluation.tournament.ladder import Ladder
from evaluation.tournament.schedule import Schedule


def schedule_named(name: str, *, guard: bool = False) -> Schedule:
    """Return `ladder`, with or without its guard, or `halving`, the paper's protocol, which has no guard.

    Raise `ValueError` for another name, and for a guard where there is none.
    """
    if name == "ladder":
        return Ladder(guard=guard)
    if name != "halving":
        raise ValueError(f"there is no schedule {name!r}: choose ladder or halving")
    if guard:
        raise ValueError("the schedule halving has no guard: only the ladder has one")
    return Halving()
