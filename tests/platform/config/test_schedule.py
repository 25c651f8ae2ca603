"""What workers do at intervals and in which queue: the settings, and what the apps of formats add."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from celery import Celery, current_app
from pytest_django import Settings

from config.celery import check_queues


def test_every_sweep_is_scheduled_and_every_scheduled_task_exists() -> None:
    current_app.loader.import_default_modules()  # as workers and the scheduler do when they start
    scheduled = {each["task"] for each in current_app.conf.beat_schedule.values()}
    assert {name for name in current_app.tasks if name.endswith(".sweep")} <= scheduled
    assert scheduled <= current_app.tasks.keys()
    assert {"matches.sweep", "leaderboards.sweep", "tournaments.sweep"} < scheduled


def test_nothing_of_the_schedule_expires() -> None:
    """On a slow host the messages that beat sends last would always be too old, and their tasks never run."""
    assert [name for name, each in current_app.conf.beat_schedule.items() if "expires" in each.get("options", {})] == []


@pytest.mark.parametrize(
    ("task", "queue"),
    [
        ("submissions.build", "build"),
        ("workers.play", "play"),
        ("tournaments.make_baselines", "build"),
        ("rounds.verify", "files"),
        ("repositories.clean_up", "files"),
        ("tournaments.sweep", "default"),
    ],
)
def test_a_task_goes_to_the_queue_that_the_settings_or_the_app_of_a_format_name(task: str, queue: str) -> None:
    assert current_app.amqp.router.route({}, task)["queue"].name == queue


def test_what_runs_once_a_day_and_reads_the_whole_site_keeps_no_sweep_waiting() -> None:
    """A scorer runs one task at a time, and a season has thousands of scores and repositories."""
    for task in ("rounds.verify", "repositories.clean_up"):
        assert current_app.amqp.router.route({}, task)["queue"].name != "default"
    for task in ("leaderboards.sweep", "leaderboards.score", "workers.sweep", "rounds.sweep", "submissions.sweep"):
        assert current_app.amqp.router.route({}, task)["queue"].name == "default"


@pytest.mark.parametrize("queues", ["build,play", "build", "build,files", "default,play"])
def test_a_host_without_the_folder_of_the_site_serves_no_queue_that_needs_it(settings: Settings, queues: str) -> None:
    app = Celery("another", set_as_current=False)
    app.amqp.queues.select(queues.split(","))
    settings.HOST_TOKEN = ""
    check_queues(instance=SimpleNamespace(app=app))
    settings.HOST_TOKEN = "gth_a"  # noqa: S105 - a test
    if set(queues.split(",")) <= {"build", "play"}:
        check_queues(instance=SimpleNamespace(app=app))
    else:
        with pytest.raises(SystemExit, match=r"cannot serve the queues (files|default)\n"):
            check_queues(instance=SimpleNamespace(app=app))
