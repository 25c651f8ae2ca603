"""The schedules by name."""

from __future__ import annotations

from evaluation.tournament.halving import Halving
from evaluation.tournament.ladder import Ladder
from evaluation.tournament.schedule import Schedule


def schedule_named(name: str, *, guard: bool = False) -> Schedule:
    """`ladder`, with or without its guard, or `halving`, the paper's protocol, which knows no guard.

    Raises `ValueError` for another name, and for a guard where there is none.
    """
    if name == "ladder":
        return Ladder(guard=guard)
    if name != "halving":
        raise ValueError(f"no schedule is called {name!r}: choose ladder or halving")
    if guard:
        raise ValueError("the schedule halving has no guard: only the ladder spares anybody")
    return Halving()
