"""Claims of pieces and of builds while 10,000 wait and 100,000 of a day are done: the database's time for each.

On PostgreSQL where DATABASE_URL names one. `bench.transfer` measures those of runs.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from statistics import median, quantiles
from typing import Any

import django
from django.db import connection

from bench.interleaved import say
from bench.pages import database_seconds, own_database
from bench.report import Section, table
from bench.sizes import sized
from bench.tables import make_tables

CLAIMS = sized(100, smallest=3)
DONE = sized(100_000, smallest=20)
WAITING = sized(10_000, smallest=10)
TEAMS = sized(200, smallest=2)
PIECES = 20
"""Pieces of a match."""
FAULT_SHARE = 100
"""One of so many waiting submissions had a platform error just now."""


def measure() -> Section:
    """Measure on a database of its own."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder, own_database(folder) as address:
        os.environ |= {"GAUNTLET_STATE": folder, "DATABASE_URL": address}
        django.setup()
        say("claims: creating the site")
        make_tables()
        try:
            return _measure()
        finally:
            connection.close()


def _measure() -> Section:
    # modules that import models wait until Django is set up
    crowd, clock = importlib.import_module("bench.synthetic_competition"), importlib.import_module("core.clock")
    competition = crowd.make_competition("bench")
    repositories = crowd.make_entries(competition, competition.tracks.get(name="model"), TEAMS)
    now = clock.now()
    _pieces(crowd, competition, [each.entry for each in repositories], now)
    _builds(crowd, repositories, now)
    play, build = importlib.import_module("workers.team_queue_order").PLAY, _module("submissions.build_order").BUILD
    for role in (play, build):
        _worker_time(role, [each.entry for each in repositories], now)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    rows = [_row("a piece", _claims(play)), _row("a build", _claims(build))]
    return Section(
        f"Claims, on {connection.vendor}",
        [
            f"{DONE:,} pieces and as many builds of {TEAMS} teams are done on a day, and {WAITING:,} of each wait, one "
            f"submission in {FAULT_SHARE} after a platform error. "
            "Times are processor time of the connection to the database.",
            "",
            *table(["a claim of", "target of the 95th percentile", "median", "95th percentile"], rows),
        ],
    )


def _pieces(crowd: Any, competition: Any, entries: Sequence[Any], now: datetime) -> None:
    """Create matches with played pieces, and others with waiting ones."""
    models = _module("formats.query.matches.models")
    model, attack = (crowd.make_player(competition, track, track) for track in ("model", "untargeted"))
    rules, samples = competition.rules_versions.get(), competition.sample_sets.get()
    for state, number, of_match in (
        ("played", DONE, models.Match.State.PLAYED),
        ("waiting", WAITING, models.Match.State.WAITING),
    ):
        before = models.Match.objects.count()
        matches = models.Match.objects.bulk_create(
            models.Match(rules=rules, sample_set=samples, model=model, attack=attack, repetition=before + place,
                         seed=1, state=of_match, created_at=now)
            for place in range(-(-number // PIECES))
        )  # fmt: skip
        models.Piece.objects.bulk_create(
            (
                models.Piece(match=matches[place // PIECES], number=place % PIECES, first=0, count=10,
                             entry=entries[place // PIECES % len(entries)], state=state, fence=1, queued_at=now,
                             seconds=1.0, played_at=now - place * timedelta(days=1) / number)
                for place in range(number)
            ),
            batch_size=2000,
        )  # fmt: skip


def _builds(crowd: Any, repositories: Sequence[Any], now: datetime) -> None:
    """Create submissions with a build of the last day each, and others that wait for theirs, some after a fault."""
    models = _module("submissions.models")
    each, waiting = DONE // len(repositories), WAITING // len(repositories)
    for number in range(each):
        at = now - number * timedelta(days=1) / each
        done = crowd.make_submissions(repositories, None, number, at)
        models.Build.objects.bulk_create(
            models.Build(submission=one, attempt=1, worker="bench/1", started_at=at - timedelta(minutes=1),
                         finished_at=at, outcome="ready")
            for one in done
        )  # fmt: skip
    for number in range(each, each + waiting):
        crowd.make_submissions(repositories, None, number, now)
    models.Submission.objects.filter(builds=None).update(state=models.Submission.State.RECEIVED)
    at_fault = models.Submission.objects.filter(builds=None).order_by("pk")[: WAITING // FAULT_SHARE]
    models.Build.objects.bulk_create(
        models.Build(submission=one, attempt=1, worker="bench/1", started_at=now, finished_at=now, outcome="fault")
        for one in at_fault
    )


def _worker_time(role: Any, entries: Sequence[Any], now: datetime) -> None:
    """Create what the commits of a day leave: the seconds of each team and hour."""
    hour, workers = now.replace(minute=0, second=0, microsecond=0), _module("workers.models")
    workers.WorkerTime.objects.bulk_create(
        workers.WorkerTime(role=role.name, entry=entry, hour=hour - timedelta(hours=back), seconds=20.0)
        for entry in entries
        for back in range(24)
    )


def _claims(role: Any) -> list[float]:
    queue, workers, now = _module("workers.queue"), _module("workers.models"), _module("core.clock").now()
    seen = []
    for number in range(CLAIMS):
        worker = workers.Worker.objects.create(
            name=f"{role.name}/{number}", worker_class="cpu", started_at=now, last_seen_at=now
        )
        seen.append(_database_time(lambda worker=worker: queue.claim(worker, role)))  # type: ignore[misc]
    return seen


def _database_time(work: Callable[[], object]) -> float:
    before = database_seconds()
    if work() is None:
        raise RuntimeError("nothing was claimed")
    return database_seconds() - before


def _row(name: str, seconds: Sequence[float]) -> list[str]:
    highest = quantiles(seconds, n=20, method="inclusive")[-1]
    return [name, "under 20 ms", *(f"{1000 * each:.1f} ms" for each in (median(seconds), highest))]


def _module(name: str) -> Any:
    return importlib.import_module(name)


if __name__ == "__main__":
    print(measure().text())
