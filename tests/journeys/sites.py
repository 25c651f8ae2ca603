"""Whole sites in processes of their own: web server, worker, database, as `make demo` starts them."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

import psycopg2

from tests.ports import free_port
from tests.slots import Slot, empty

LONGEST_DEMO = 540.0
"""Seconds after which a demo hangs: several times what it takes, since other tests share a host that may be slow."""


class Site:
    """One state folder and database, at which the demo can be started several times."""

    def __init__(self, root: Path, folder: Path, environment: dict[str, str]) -> None:
        self._root = root
        self.state = folder
        self.environment = os.environ | environment | {"GAUNTLET_STATE": str(folder), "GAUNTLET_HOSTS": ""}
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.token = ""
        self._running: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """The demo of the small competition, its output in a pipe."""
        competition = Path(__file__).with_name("small.toml")
        command = [sys.executable, "manage.py", "demo", "--port", str(self.port), "--competition", str(competition)]
        process = subprocess.Popen(
            [*command, *arguments],
            cwd=self._root,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._running.append(process)
        return process

    def run(self, *more: str, seconds: float = LONGEST_DEMO) -> str:
        """`make demo ARGS=--exit`, and `more`: all it printed, after it left with status 0."""
        process = self.start("--exit", "--limit", f"{LONGEST_DEMO - 40:.0f}", *more)
        output, _ = process.communicate(timeout=seconds)
        assert process.returncode == 0, output + self.logs()
        return output

    def logs(self) -> str:
        """The ends of what web and worker wrote."""
        return "".join(f"\n== {log.name}\n{log.read_text()[-4000:]}" for log in sorted(self.state.glob("logs/*.log")))

    def empty_broker(self) -> None:
        """Take every message out of its broker."""
        if address := self.environment["GAUNTLET_BROKER"]:
            empty(address)
        shutil.rmtree(self.state / "broker", ignore_errors=True)

    def close(self) -> None:
        """End what still runs, as Ctrl-C would."""
        for process in self._running:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            if process.stdout is not None:
                process.communicate(timeout=60)


class MakeSite:
    """Makes sites: `make_site(GAUNTLET_SANDBOX="docker")`."""

    def __init__(self, root: Path, folder: Path, slot: Slot) -> None:
        self._root = root
        self._folder = folder
        self._slot = slot
        self._made: list[Site] = []

    def __call__(self, *, like: Site | None = None, **environment: str) -> Site:
        """Make a site with a database and a broker of its own: an empty one, or a copy of `like`, which has ended.

        The copy of a site on SQLite has its file in the state folder, as that site has.
        """
        number = len(self._made)
        state = self._folder / f"state-{number}"
        if like is not None:
            shutil.copytree(like.state, state, symlinks=True, ignore=shutil.ignore_patterns("broker"))
        given = {"GAUNTLET_SANDBOX": "process"} | environment
        if like is not None and not like.environment["DATABASE_URL"]:
            given["DATABASE_URL"] = ""
        elif "DATABASE_URL" not in given:
            given["DATABASE_URL"] = make_database(like.environment["DATABASE_URL"] if like else "")
        if "GAUNTLET_BROKER" not in given:
            given["GAUNTLET_BROKER"] = self._slot.broker(os.environ.get("GAUNTLET_BROKER", ""), number)
        self._made.append(Site(self._root, state, given))
        return self._made[-1]

    def close(self) -> None:
        """End what still runs, and drop the databases."""
        for site in self._made:
            site.close()
            drop_database(site.environment["DATABASE_URL"])


class PlayedSeason:
    """A season of the demo, played to its end by the first process that asks for it, once in a run of the tests."""

    def __init__(self, folder: Path, root: Path, slot: Slot) -> None:
        self._folder = folder
        self._user = folder / f"user-{os.getpid()}"
        self._root = root
        self._slot = slot
        folder.mkdir(exist_ok=True)
        with self._lock():
            self._user.touch()

    @property
    def output(self) -> str:
        """What it printed."""
        return self._played[1]

    @property
    def site(self) -> Site:
        """The site, which nobody may start: `make_site(like=season.site)` makes copies."""
        return self._played[0]

    def close(self) -> None:
        """Drop its database where no other process uses it any longer."""
        with self._lock():
            self._user.unlink()
            if self._record.exists() and not list(self._folder.glob("user-*")):
                drop_database(json.loads(self._record.read_text())["DATABASE_URL"])
                shutil.rmtree(self._folder / "state-0")
                self._record.unlink()

    @property
    def _record(self) -> Path:
        return self._folder / "played.json"

    @cached_property
    def _played(self) -> tuple[Site, str]:
        with self._lock():
            if not self._record.exists():
                make_site = MakeSite(self._root, self._folder, self._slot)
                site = make_site()
                try:
                    output = site.run("--full", seconds=2 * LONGEST_DEMO)
                    played = {"output": output, "DATABASE_URL": site.environment["DATABASE_URL"]}
                except BaseException:
                    make_site.close()
                    shutil.rmtree(site.state, ignore_errors=True)
                    raise
                self._record.write_text(json.dumps(played))
            played = json.loads(self._record.read_text())
        return Site(self._root, self._folder / "state-0", {"DATABASE_URL": played["DATABASE_URL"]}), played["output"]

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


@contextmanager
def networks_of_host(shared_folder: Path) -> Iterator[None]:
    """Let no other test of this run add or remove a network of this host: Chromium would drop its connections."""
    with (shared_folder / "networks.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_database(like: str = "") -> str:
    """Make a database beside the one that DATABASE_URL names, empty or a copy of the one at `like`; return its address.

    Where it names none, a site has a SQLite file in its state folder, and there is nothing to make.
    """
    server = os.environ.get("DATABASE_URL", "")
    if not server.startswith("postgres"):
        return ""
    name = f"journey_{secrets.token_hex(6)}"
    _on_server(server, f'create database "{name}"' + (f' template "{urlsplit(like).path[1:]}"' if like else ""))
    if like:  # until then a crash sets the sequences of a copy back, and it hands out numbers of rows that are there
        _on_server(server, "checkpoint")
    return urlsplit(server)._replace(path=f"/{name}").geturl()


def drop_database(address: str) -> None:
    """Drop a database that was made here; nothing to do for a file."""
    if address:
        _on_server(os.environ["DATABASE_URL"], f'drop database "{urlsplit(address).path[1:]}" with (force)')


def _on_server(address: str, statement: str) -> None:
    with closing(psycopg2.connect(address)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)
