"""What beat sends at intervals runs once when it is late, however many of its messages wait."""

from __future__ import annotations

from typing import Any

from celery import Task, signals

from config.stack_room import with_stack_room
from core import clock, optional_cache

SENT_AT = "gauntlet_sent_at"
"""Header of a message: when it was sent, in seconds of Unix time."""

RECENT_SECONDS = 60.0
"""A run that began longer ago makes no message superfluous, so a wrong clock slows sweeps down and never stops them."""

_BEGAN_AT = "config.began-at.{}"


class CoalescingTask(Task):  # type: ignore[misc]
    """Class of all tasks. One of the schedule does nothing for a message that was sent before its last run began.

    That run has seen everything that the message was sent for. Messages therefore need not expire: on a host that is
    too slow to run every task at its interval, each one runs in its turn, and the queue stays short.
    """

    @with_stack_room
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task, unless it is a message that needs no run any more."""
        if self.request.called_directly:
            return super().__call__(*args, **kwargs)
        if not (args or kwargs) and self._is_scheduled():
            now, key = clock.now().timestamp(), _BEGAN_AT.format(self.name)
            began_at = optional_cache.get(key)
            sent_at = getattr(self.request, SENT_AT, now)
            # a run that seems to begin later was by a clock that is ahead, or was set back since
            if began_at is not None and sent_at < began_at <= now < began_at + RECENT_SECONDS:
                return None
            optional_cache.put(key, now, None)
        return self.run(*args, **kwargs)

    def _is_scheduled(self) -> bool:
        return any(self.name == each["task"] for each in self.app.conf.beat_schedule.values())


@signals.before_task_publish.connect  # type: ignore[untyped-decorator]
def record_time(headers: dict[str, Any], **_: Any) -> None:
    """Record in a message when it is sent."""
    headers[SENT_AT] = clock.now().timestamp()
