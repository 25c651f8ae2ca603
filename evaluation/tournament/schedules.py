"""The schedules by name. They come with the schedules' own modules."""

from __future__ import annotations

from evaluation.tournament.plan import Schedule


def schedule_named(name: str, *, guard: bool = False) -> Schedule:
    """The schedule of that name; `ValueError` where there is none."""
    raise ValueError(f"no schedule is called {name!r} (guard {guard})")
