"""A round whose processes are killed repeatedly has the same outcome as an undisturbed one."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
import pytest

SET_UP = "import django, runpy; django.setup(); runpy.run_path('tests/journeys/small_round.py', run_name='__main__')"
CELERY = [sys.executable, "-m", "celery", "--app", "config", "worker", "--loglevel", "INFO", "--without-gossip"]
WEB = [sys.executable, "-m", "gunicorn", "config.wsgi:application", "--worker-class", "gthread", "--threads", "4"]
MOMENTS = 5


class Programs:
    """Web server, builder and player of a site, each in a process group of its own."""

    def __init__(self, site: Any, root: Path, environment: dict[str, str]) -> None:
        self._site = site
        self._root = root
        self._environment = environment
        self._commands = {
            "web": [*WEB, "--bind", f"127.0.0.1:{site.port}", "--no-control-socket"],
            "builder": [*CELERY, "--beat", "--queues", "default,build", "--concurrency", "1", "--hostname", "b@%h"],
            "worker": [*CELERY, "--queues", "play", "--concurrency", "2", "--hostname", "p@%h"],
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        for name in self._commands:
            self.start(name)

    def start(self, name: str) -> None:
        with (self._site.state / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                self._commands[name],
                cwd=self._root,
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """Kill it without warning, as a power failure does."""
        process = self._running[name]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        for name in self._running:
            self.kill(name)


class Database:
    """The site's database, read past Django."""

    def __init__(self, site: Any, address: str) -> None:
        self._file = site.state / "site.sqlite3"
        self._address = address

    def ask(self, question: str) -> Any:
        """The first value of the first row."""
        return self.ask_all(question)[0][0]

    def ask_all(self, question: str) -> list[tuple[Any, ...]]:
        """All rows."""
        connect = psycopg2.connect if self._address else sqlite3.connect
        with closing(connect(self._address or self._file)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(question)
            return [tuple(row) for row in cursor.fetchall()]

    def played(self) -> int:
        return int(self.ask("select count(*) from matches_piece where state = 'played'"))

    def outcome(self) -> str:
        """The snapshot hash; empty before the round is scored."""
        return str(self.ask("select outcome from rounds_round"))

    def rows(self) -> list[tuple[Any, ...]]:
        """Every sample result of the round, by the contents of its players: all of it but the times.

        The leaderboards' own matches run during the round and after it.
        """
        return self.ask_all(
            "select attack.digest, model.digest, row.sample, row.outcome, row.distance, row.queries, row.reason "
            "from matches_sampleresult row join matches_match match on match.id = row.match_id "
            "join rounds_roundmatch of_round on of_round.match_id = match.id "
            "join submissions_player attack on attack.id = match.attack_id "
            "join submissions_player model on model.id = match.model_id order by 1, 2, 3"
        )

    def drop_connections(self) -> None:
        """End all connections."""
        self.ask(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )


@dataclass(frozen=True)
class Outcome:
    """How a round ended: its snapshot hash, and the rows that it follows from."""

    digest: str
    rows: list[tuple[Any, ...]]


@pytest.fixture
def play_round(
    make_site: Callable[..., Any], root: Path, wait: Callable[..., None]
) -> Iterator[Callable[[Callable[[Programs, Database, int], None]], Outcome]]:
    """Plays the round of a fresh site to its end, with something done to it after each of some pieces; its outcome."""
    running: list[Programs] = []

    def play(disturb: Callable[[Programs, Database, int], None]) -> Outcome:
        site = make_site()
        environment = site.environment | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        subprocess.run([sys.executable, "-c", SET_UP], cwd=root, env=environment, check=True, timeout=200)
        database = Database(site, environment["DATABASE_URL"])
        programs = Programs(site, root, environment)
        running.append(programs)
        for number, moment in enumerate(sorted(random.Random(4).sample(range(2, 30), MOMENTS))):
            wait(f"{moment} pieces played", lambda moment=moment: database.played() >= moment)
            disturb(programs, database, number)
        wait("the end of the round", database.outcome, seconds=240.0)
        return Outcome(database.outcome(), database.rows())

    yield play
    for programs in running:
        programs.close()


def disturb(programs: Programs, database: Database, number: int) -> None:
    """Kill the next one: worker, web server, builder, connections (on SQLite the worker's), worker again."""
    name = ("worker", "web", "builder", "database", "worker")[number]
    if name == "database" and os.environ.get("DATABASE_URL", "").startswith("postgres"):
        database.drop_connections()
        return
    name = "worker" if name == "database" else name
    programs.kill(name)
    programs.start(name)


@pytest.mark.slow(140)
@pytest.mark.timeout(600)
def test_a_round_killed_at_five_moments_has_the_outcome_of_an_undisturbed_one(
    play_round: Callable[[Callable[[Programs, Database, int], None]], Outcome],
    first_difference: Callable[[Sequence[object], Sequence[object]], str],
) -> None:
    undisturbed = play_round(lambda programs, database, number: None)
    disturbed = play_round(disturb)
    assert first_difference(undisturbed.rows, disturbed.rows) == ""
    assert disturbed.digest == undisturbed.digest
