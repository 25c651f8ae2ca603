"""The schedules by name."""

from __future__ import annotations

from evaluation.formats.query.tournament.halving import Halving
from evaluation.formats.query.tournament.ladder import Ladder
from evaluation.formats.query.tournament.ladder_2 import Ladder2
from evaluation.formats.query.tournament.schedule_output import Schedule


def schedule_named(name: str, *, guard: bool = False) -> Schedule:
    """Return `ladder-2`, `halving`, the paper's protocol, or `ladder`, the earlier one, which alone may have a guard.

    Raise `ValueError` for another name, and for a guard where there is none.
    """
    if name == "ladder":
        return Ladder(guard=guard)
    if name not in ("ladder-2", "halving"):
        raise ValueError(f"there is no schedule {name!r}: choose ladder-2, halving or ladder")
    if guard:
        raise ValueError(f"the schedule {name} has no guard: only the panel ladder has one")
    return Ladder2() if name == "ladder-2" else Halving()
