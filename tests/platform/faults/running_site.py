"""A site in one process that goes on by itself: its workers take messages, its sweeps run, and its time moves."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from celery import current_app
from django.core.cache import cache
from django.db import close_old_connections, connection, transaction

from competitions.models import Competition
from formats.curves.models import Benchmark
from formats.query.leaderboards.models import Evaluation
from repositories.http.push_hooks import ReceivePack, close_connections
from repositories.models import Repository
from repositories.push_budget import charged
from rounds.models import Round
from submissions.models import QuotaSlot, Submission
from submissions.push_gate import submission_gate
from tests.platform.conftest import FakeClock
from tests.platform.faults.external_calls import ExternalCalls
from workers.models import Host
from workers.work_item_models import WorkItem
from workers.work_kind_interface import kinds

log = logging.getLogger(__name__)

MOST_MESSAGES = 500
"""More than any phase of a season sends."""

PAUSES = (10.0, 10.0, 10.0, 30.0, 60.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 3600.0)
"""Seconds between the sweeps of a site that has nothing else to do."""

SITE = "http://testserver"


@dataclass(frozen=True)
class Snapshot:
    """The rows of all tables, a copy of the site's folder, and the time."""

    rows: dict[str, tuple[list[str], list[tuple[Any, ...]]]]
    folder: Path
    at: datetime


class RunningSite:
    """The site with its competition; `messages` are those that no worker has received."""

    def __init__(self, competition: Competition, folder: Path, clock: FakeClock, calls: ExternalCalls) -> None:
        self.competition, self.clock, self.calls = competition, clock, calls
        self.messages: list[tuple[str, dict[str, int]]] = []
        self._folder = folder
        schedule = current_app.conf.beat_schedule.values()
        self._sweeps = sorted(
            {each["task"] for each in schedule if isinstance(each["schedule"], float) and each["schedule"] <= 60.0}
        )

    def snapshot(self, folder: Path) -> Snapshot:
        """Copy the state of the site; files are shared, since the site replaces files and never changes them."""
        shutil.copytree(self._folder, folder, copy_function=os.link, symlinks=True, dirs_exist_ok=True)
        return Snapshot(_all_rows(), folder, self.clock.at)

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a copied state."""
        _write_rows(snapshot.rows)
        for path in self._folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(snapshot.folder, self._folder, copy_function=os.link, symlinks=True, dirs_exist_ok=True)
        self.messages.clear()
        cache.clear()
        self.clock.at = snapshot.at

    def push(self, repository: Repository, commit: str, tag: str) -> None:
        """Push a tag as a captain does, who pushes again if the site says that nothing was recorded."""
        for _ in range(3):
            with _request():
                if self._pushed(repository, commit, tag):
                    return
            self.clock.forward(seconds=30)
        raise AssertionError("pushed three times in vain")

    def _pushed(self, repository: Repository, commit: str, tag: str) -> bool:
        line = f"{'0' * 40} {commit} refs/tags/{tag}"
        captain = repository.entry.team.memberships.get().user
        with charged(repository.entry.team) as account:
            receive = ReceivePack(submission_gate, repository, captain, SITE, account)
            try:
                status, answer = receive._decide(f"pre-receive\0{line}".encode(), lambda: 0.1)
                close_connections()
                assert status == 0 or "platform error" in answer, answer
                if status == 0:
                    (repository.path / "refs" / "tags" / tag).write_text(f"{commit}\n")
                    receive._decide(f"post-receive\0{line}".encode(), lambda: 0.1)
                    close_connections()
            finally:
                receive.close()
        return status == 0

    def act(self, act: Callable[[], None], *, done: Callable[[], bool]) -> None:
        """Do what an organiser does, who reads the page after an error, and tries again unless it is done."""
        for _ in range(3):
            with _request():
                act()
            with self.calls.uncounted():
                close_old_connections()
                if done():
                    return
            self.clock.forward(seconds=5)
        raise AssertionError("tried three times in vain")

    def work(self) -> None:
        """Let the workers receive every message."""
        for _ in range(MOST_MESSAGES):
            if not self.messages:
                return
            task, keys = self.messages.pop(0)
            self._run(task, keys)
        raise AssertionError(f"messages without end: {self.messages[:3]}")

    def sweep(self) -> None:
        """Run everything that runs at least once a minute, and what it wakes."""
        for task in self._sweeps:
            self._run(task, {})
        self.work()

    def go_on(self, is_done: Callable[[], bool]) -> int:
        """Let the site work and its time pass until nothing is left to do, and `is_done`; return after how many sweeps.

        Raise `AssertionError` where it hangs.
        """
        self.work()
        for number, pause in enumerate(PAUSES):
            self.sweep()
            with self.calls.uncounted():
                close_old_connections()
                if not self.left() and is_done():
                    return number
            self.clock.forward(seconds=pause)
        raise AssertionError(f"it hangs: {self.left() or 'its results differ'}")

    def left(self) -> list[str]:
        """Return what is neither final nor given up."""
        found = [f"{each} is {each.state}" for each in Submission.objects.filter(state__in=Submission.UNDER_WAY)]
        found += [f"slot of {each.tag}" for each in QuotaSlot.objects.filter(state=QuotaSlot.State.RESERVED)]
        items = [each for kind in kinds for table in kind.tables for each in table._default_manager.all()]
        for each in items:
            # the benchmarks of a round wait for its start
            waits = isinstance(each, Benchmark) and each.round is not None and each.round.state == Round.State.FROZEN
            if each.state != WorkItem.State.PLAYED and not waits:
                found.append(f"{each} is {each.state}")
        found += [f"{each} is playing" for each in Evaluation.objects.filter(state=Evaluation.State.PLAYING)]
        found += [f"{each} is playing" for each in Round.objects.filter(state=Round.State.PLAYING)]
        found += [f"{each} is out of service" for each in Host.objects.filter(out_since__isnull=False)]
        return found

    def _run(self, task: str, keys: dict[str, int]) -> None:
        """Run a task as Celery does: an exception ends the task alone."""
        with _request():
            current_app.tasks[task](**keys)


@contextmanager
def _request() -> Iterator[None]:
    """Begin and end a request or a task: with usable connections, and an exception ends nothing else."""
    close_old_connections()
    try:
        yield
    except AssertionError:
        raise
    except Exception:  # the server answers 500, and Celery takes the next message
        log.warning("a request or task has ended", exc_info=True)
    finally:
        close_old_connections()


def _all_rows() -> dict[str, tuple[list[str], list[tuple[Any, ...]]]]:
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    rows = {}
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608 - quoted
            rows[table] = [column[0] for column in cursor.description], cursor.fetchall()
    return rows


def _write_rows(rows: dict[str, tuple[list[str], list[tuple[Any, ...]]]]) -> None:
    quote = connection.ops.quote_name
    with transaction.atomic(), connection.cursor() as cursor:
        for table in rows:
            cursor.execute(f"DELETE FROM {quote(table)}")  # noqa: S608 - quoted
        for table, (columns, values) in rows.items():
            if values:
                names, places = ", ".join(map(quote, columns)), ", ".join(["%s"] * len(columns))
                cursor.executemany(f"INSERT INTO {quote(table)} ({names}) VALUES ({places})", values)  # noqa: S608
