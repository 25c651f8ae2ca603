"""Beat's schedule on a host whose clock is set back."""

from __future__ import annotations

from typing import Any

from celery.beat import PersistentScheduler
from celery.utils.time import maybe_make_aware


class Scheduler(PersistentScheduler):  # type: ignore[misc]
    """Celery's scheduler, which otherwise sends nothing until the clock shows the time of the last run again.

    It keeps that time in a file, so a new start would not help. A clock is set back where a host starts with a wrong
    one, and learns the right time later.
    """

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due; return after how many seconds the next task may be due."""
        for entry in self.schedule.values():
            now = entry.default_now()
            if maybe_make_aware(entry.last_run_at) > maybe_make_aware(now):
                entry.last_run_at = now
                self._heap = None  # it holds the times of all entries by the wrong clock
        return float(super().tick(*args, **kwargs))
