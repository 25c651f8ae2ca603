"""What workers do at intervals: the schedule of the settings, and those of the apps of formats."""

from __future__ import annotations

from celery import current_app


def test_every_sweep_is_scheduled_and_every_scheduled_task_exists() -> None:
    current_app.loader.import_default_modules()  # as workers and the scheduler do when they start
    scheduled = {each["task"] for each in current_app.conf.beat_schedule.values()}
    assert {name for name in current_app.tasks if name.endswith(".sweep")} <= scheduled
    assert scheduled <= current_app.tasks.keys()
    assert {"matches.sweep", "leaderboards.sweep", "tournaments.sweep"} < scheduled


def test_what_is_late_expires_before_it_is_due_again() -> None:
    for each in current_app.conf.beat_schedule.values():
        if isinstance(each["schedule"], float):
            assert each["options"]["expires"] == each["schedule"]
