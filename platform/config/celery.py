"""The Celery app. Messages contain only keys; the state is in the database, and sweeps replace lost messages."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from celery import Celery, Task, signals
from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.utils.log import configure_logging
from kombu.transport import TRANSPORT_ALIASES

from config.coalescing_task import CoalescingTask
from config.site_identity_check import require_site
from core.log_formatters import replace_log_ids

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# it would run the system checks, ignore what they find, and load all pages for them; `migrate` and `doctor` run them
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

TRANSPORT_ALIASES["filesystem"] = "config.file_system_broker:Transport"

QUEUES_OF_HOSTS = frozenset({"build", "play"})
"""Queues whose tasks need database, broker, object store and commits, but not the folder of the site."""

log = logging.getLogger(__name__)

app = Celery("gauntlet", task_cls=CoalescingTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.import_modules.connect  # type: ignore[untyped-decorator]
def add_tasks_of_apps(**_: Any) -> None:
    """Add what the apps of formats do at intervals: their `beat_schedule`. Django is set up by then."""
    for each in apps.get_app_configs():
        app.conf.beat_schedule.update(getattr(each, "beat_schedule", {}))


def route_of_apps(name: str, *_: Any, **__: Any) -> Mapping[str, str] | None:
    """Return the route of a task that the app of a format has in its `task_routes`; None for all others."""
    routes: Iterator[Mapping[str, Mapping[str, str]]]
    routes = (getattr(each, "task_routes", {}) for each in apps.get_app_configs())
    return next((own[name] for own in routes if name in own), None)


@signals.setup_logging.connect  # type: ignore[untyped-decorator]
def set_up_logging(**_: Any) -> None:
    """Log as the web server does. Where this signal has a receiver, Celery's own configuration stays out."""
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)


@signals.worker_init.connect  # type: ignore[untyped-decorator]
def check_site(**_: Any) -> None:
    """Do not start a worker whose state folder is not that of the database."""
    try:
        require_site()
    except ImproperlyConfigured as problem:
        sys.exit(str(problem))  # Celery logs any other exception of a receiver, and starts


@signals.task_prerun.connect  # type: ignore[untyped-decorator]
def record_activity(task: Task, **_: Any) -> None:
    """Record which queue this worker takes tasks of."""
    queue = (task.request.delivery_info or {}).get("routing_key", "")
    import_module("operations.queue_activity").record(queue)  # it needs the settings


@signals.worker_ready.connect  # type: ignore[untyped-decorator]
def watch_for_idleness(**_: Any) -> None:
    """Let a worker of a cluster end when it has nothing to do."""
    if settings.WORKER_IDLE_SECONDS:
        import_module("workers.idle_exit").end_when_idle(settings.WORKER_IDLE_SECONDS)  # it needs the models


@signals.worker_ready.connect  # type: ignore[untyped-decorator]
def record_start(sender: Any, **_: Any) -> None:
    """Record that this worker plays from now on."""
    if _plays(sender):
        _record("record_start", sender.controller.concurrency)


@signals.worker_shutdown.connect  # type: ignore[untyped-decorator]
def record_stop(sender: Any, **_: Any) -> None:
    """Record that this worker plays no more, so that nobody takes it for lost; not where an error ended it."""
    if _plays(sender) and not sender.exitcode:
        _record("record_stop", sender.concurrency)


@signals.worker_shutting_down.connect  # type: ignore[untyped-decorator]
def return_work_in_time(how: str, **_: Any) -> None:
    """Let a stopped worker return its work before what stops it kills it, which would be a fault of the work."""
    if how == "Warm" and settings.WORKER_STOP_SECONDS:
        timer = threading.Timer(settings.WORKER_STOP_SECONDS, os.kill, (os.getpid(), signal.SIGQUIT))
        timer.daemon = True  # a worker that has ended its work earlier does not wait
        timer.start()


def _plays(sender: Any) -> bool:
    return "play" in sender.app.amqp.queues.consume_from


def _record(act: str, slots: int) -> None:
    try:
        getattr(import_module("workers.heartbeat"), act)(slots)  # it needs the models
    except Exception:  # the database is away: the worker counts as lost until its next task, or for an hour
        log.warning("the start or stop of this worker could not be recorded", exc_info=True)
    finally:
        connection.close()  # processes that are started later must not share it


@signals.worker_process_shutdown.connect  # type: ignore[untyped-decorator]
def send_traces(**_: Any) -> None:
    """Send what a process of a worker has traced: it ends without what other programs do at their end."""
    import_module("core.submission_traces").close()  # it needs the settings


@signals.celeryd_after_setup.connect  # type: ignore[untyped-decorator]
def check_queues(instance: Any, **_: Any) -> None:
    """Do not start a worker of queues whose tasks need the folder of the site on a host that lacks it."""
    consumed = set(instance.app.amqp.queues.consume_from)
    if settings.HOST_TOKEN and (others := consumed - QUEUES_OF_HOSTS):
        sys.exit(
            f"a worker host with a folder of its own cannot serve the queues {', '.join(sorted(others))}\n"
            f"  fix: start its workers with --queues {' or '.join(sorted(QUEUES_OF_HOSTS))}"
        )


@signals.task_prerun.connect  # type: ignore[untyped-decorator]
def name_task(task_id: str, task: Task, **_: Any) -> None:
    """Log the task with every line that it logs."""
    replace_log_ids(task=task.name, task_id=task_id)


@signals.task_postrun.connect  # type: ignore[untyped-decorator]
def forget_task(**_: Any) -> None:
    """Log what follows without it."""
    replace_log_ids()
