"""Beat sends what is due, whatever the clock of its host did before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from celery import Celery
from celery.schedules import schedule

from config.beat_scheduler import Scheduler

INTERVAL = 10.0
_clock = [datetime(2026, 11, 30, tzinfo=UTC)]


def clock() -> datetime:
    """The clock of the host; a function of the module, since beat stores it with its schedule."""
    return _clock[0]


def beat(folder: Path) -> Scheduler:
    """Beat as it starts."""
    app = Celery("beat", broker="memory://", set_as_current=False)
    entry = {"task": "a", "schedule": schedule(INTERVAL, nowfun=clock, app=app)}
    app.conf.beat_schedule = {"a": entry, "b": entry | {"task": "b"}}
    return Scheduler(app, schedule_filename=str(folder / "beat-schedule"))


def sent(scheduler: Scheduler, seconds: float) -> set[str]:
    """Let time pass; return what beat has sent, whose longest sleep is that between two runs."""
    before = {name: entry.total_run_count for name, entry in scheduler.schedule.items()}
    assert scheduler.tick() <= INTERVAL
    _clock[0] += timedelta(seconds=seconds)
    while scheduler.tick() == 0:
        pass
    return {name for name, entry in scheduler.schedule.items() if entry.total_run_count > before[name]}


def test_a_clock_that_is_set_back_stops_nothing(tmp_path: Path) -> None:
    """As on a host that starts with a wrong clock; beat keeps the times of its last runs in a file."""
    running = beat(tmp_path)
    assert sent(running, 11) == {"a", "b"}
    _clock[0] -= timedelta(hours=1)
    assert sent(running, 11) == {"a", "b"}
    running.close()
    _clock[0] -= timedelta(hours=1)
    started = beat(tmp_path)
    assert sent(started, 11) == {"a", "b"}
    started.close()
