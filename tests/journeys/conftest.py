"""A whole site in processes of its own: web server, worker, database, as `make demo` starts them."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg2
import pytest
import redis
import requests

BOARD_LINE = re.compile(r"^\s+\d+(?: \(.+?\))? │ .*$", re.MULTILINE)


@pytest.hookimpl(trylast=True)  # after they were shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole sites come first: the slowest tests do not run alone at the end, and they all run in one process."""
    items.sort(key=lambda item: Path(__file__).parent not in item.path.parents)


class Site:
    """One state folder and database, at which the demo can be started several times."""

    def __init__(self, root: Path, folder: Path, environment: dict[str, str]) -> None:
        self._root = root
        self.state = folder
        self.environment = os.environ | environment | {"GAUNTLET_STATE": str(folder), "GAUNTLET_HOSTS": ""}
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
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

    def run(self, *more: str, seconds: float = 280) -> str:
        """`make demo ARGS=--exit`, and `more`: all it printed, after it left with status 0."""
        process = self.start("--exit", "--limit", "240", *more)
        output, _ = process.communicate(timeout=seconds)
        assert process.returncode == 0, output + self.logs()
        return output

    def logs(self) -> str:
        """Return the ends of the logs of web server and worker."""
        return "".join(f"\n== {log.name}\n{log.read_text()[-4000:]}" for log in sorted(self.state.glob("logs/*.log")))

    def empty_broker(self) -> None:
        """Take every message out of its broker."""
        if address := self.environment["GAUNTLET_BROKER"]:
            _empty(address)
        shutil.rmtree(self.state / "broker", ignore_errors=True)

    def close(self) -> None:
        """End what still runs, as Ctrl-C would."""
        for process in self._running:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            if process.stdout is not None:
                process.communicate(timeout=60)


def own_broker(number: int) -> str:
    """Return an empty Redis database next to the one that GAUNTLET_BROKER names; "" if it names none.

    Each of the first five processes that run tests has three of them.
    """
    address = os.environ.get("GAUNTLET_BROKER", "")
    if not address.startswith("redis"):
        return ""
    process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    own = urlsplit(address)._replace(path=f"/{1 + (3 * process + number) % 15}").geturl()
    _empty(own)
    return own


def _empty(address: str) -> None:
    with redis.Redis.from_url(address) as client:
        client.flushdb()


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(what: str, condition: Callable[[], object], *, seconds: float = 120.0) -> None:
    """Wait until `condition` holds; fails naming `what` otherwise."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds:g} s"
        time.sleep(0.2)


@pytest.fixture
def wait() -> Callable[..., None]:
    """`wait_for`."""
    return wait_for


@pytest.fixture
def make_database() -> Iterator[Callable[[], str]]:
    """Create databases next to the one that DATABASE_URL names; without it, each site has a SQLite file."""
    address = os.environ.get("DATABASE_URL", "")
    made: list[str] = []

    def make() -> str:
        if not address.startswith("postgres"):
            return ""
        made.append(f"journey_{secrets.token_hex(6)}")
        _on_server(address, f'create database "{made[-1]}"')
        return urlsplit(address)._replace(path=f"/{made[-1]}").geturl()

    yield make
    for name in made:
        _on_server(address, f'drop database "{name}" with (force)')


@pytest.fixture
def make_site(root: Path, tmp_path: Path, make_database: Callable[[], str]) -> Iterator[Callable[..., Site]]:
    """Makes sites: `make_site(GAUNTLET_SANDBOX="docker")`."""
    made: list[Site] = []

    def make(**environment: str) -> Site:
        broker = own_broker(len(made))
        given = {
            "GAUNTLET_SANDBOX": "process",
            "DATABASE_URL": make_database(),
            "GAUNTLET_BROKER": broker,
        } | environment
        made.append(Site(root, tmp_path / f"state-{len(made)}", given))
        return made[-1]

    yield make
    for site in made:
        site.close()


@pytest.fixture
def board_rows() -> Callable[[str], list[str]]:
    """The rows of all boards in what the demo printed, in order; fails where there is none."""

    def read(output: str) -> list[str]:
        rows = [line.strip() for line in BOARD_LINE.findall(output)]
        assert rows, "no row of a board was printed"
        return rows

    return read


@pytest.fixture
def page() -> Callable[[str], str]:
    """The text of a page; empty where it is not there."""

    def read(url: str) -> str:
        answer = requests.get(url, timeout=10)
        return answer.text if answer.ok else ""

    return read


def _on_server(address: str, statement: str) -> None:
    connection = psycopg2.connect(address)
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
    finally:
        connection.close()
