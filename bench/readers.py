"""Many readers of a leaderboard: pages a second of the web server, kept for all of them or made for each request."""

from __future__ import annotations

import importlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import django
from django.db import connection

from bench.interleaved import say
from bench.pages import ENDED_SESSION, own_database
from bench.programs import ROOT
from bench.pushes import free_port
from bench.report import Section, table
from bench.sizes import sized
from bench.static_files import collect_static
from bench.tables import analyse, make_tables

CLIENTS = sized(20, smallest=2)
SECONDS, CHANGE_SECONDS = sized((20.0, 0.5), smallest=(0.05, 0.02))


def measure() -> Section:
    """Measure over loopback, on a database and with a web server of its own."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder, own_database(folder) as address:
        os.environ |= {"GAUNTLET_STATE": folder, "DATABASE_URL": address, "GAUNTLET_ANONYMOUS_REQUESTS": "0"}
        django.setup()
        say("readers: creating the site")
        make_tables()
        importlib.import_module("core.site_identity").require_identity()  # before there are rows of samples
        collect_static()
        site = importlib.import_module("bench.large_site")  # modules that import models wait until Django is set up
        site.make_season()
        analyse()
        importlib.import_module("core.table_versions").fold()  # as a worker does every ten seconds
        try:
            with _web_server(Path(folder)) as port:
                return _measure(port, f"/competitions/{site.SEASON}/leaderboards/model", site)
        finally:
            connection.close()


@contextmanager
def _web_server(folder: Path) -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--config", "python:config.web_server", "--bind", f"127.0.0.1:{port}"]
    command += sized([], smallest=["--workers", "1"])
    with (folder / "web.log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT / "platform")}, stdout=log, stderr=log
        )
        try:
            _wait_for(port, server, folder / "web.log")
            yield port
        finally:
            server.terminate()
            server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    while server.poll() is None:
        try:
            return _Reader(port, {}).read("/healthz")
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"the web server has ended:\n{log.read_text()[-2000:]}")


class _Reader:
    """A client with one connection."""

    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Accept-Encoding": "gzip", **headers}
        self.seconds: list[float] = []

    def read(self, address: str) -> None:
        """Read a page to its end."""
        start = time.perf_counter()
        self._connection.request("GET", address, headers=self._headers)
        answer = self._connection.getresponse()
        answer.read()
        if answer.status not in {200, 204, 304}:
            raise RuntimeError(f"{address} answers {answer.status}")
        self.seconds.append(time.perf_counter() - start)


def _read(port: int, address: str, headers: Mapping[str, str], clients: int) -> list[float]:
    """Let `clients` read an address again and again for `SECONDS`, at least once; return the seconds of each answer."""
    readers = [_Reader(port, headers) for _ in range(clients)]
    end = time.monotonic() + SECONDS

    def work(reader: _Reader) -> None:
        reader.read(address)
        while time.monotonic() < end:
            reader.read(address)

    threads = [threading.Thread(target=work, args=(reader,)) for reader in readers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [seconds for reader in readers for seconds in reader.seconds]


@contextmanager
def _changing(site: object) -> Iterator[None]:
    """Change a title on the leaderboard twice a second."""
    submission = importlib.import_module("submissions.models").Submission
    first, ended = submission.objects.order_by("pk").values_list("pk", flat=True)[0], threading.Event()

    def change() -> None:
        number = 0
        while not ended.wait(CHANGE_SECONDS):
            number += 1
            submission.objects.filter(pk=first).update(title=f"title {number}")
        connection.close()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _measure(port: int, board: str, site: object) -> Section:
    page = HTTPConnection("127.0.0.1", port)
    page.request("GET", board)
    answer = page.getresponse()
    tag, content = answer.headers["ETag"], answer.read().decode()
    found = re.search(r'hx-get="([^"]+)"', content)
    assert found is not None, "the leaderboard polls"
    poll, polls = found[1].replace("&amp;", "&"), {"HX-Request": "true"}
    rows: list[list[str]] = []
    rates: list[float] = []

    def add(name: str, address: str, headers: Mapping[str, str], clients: int = CLIENTS) -> None:
        say(f"readers: {name}")
        seconds = _read(port, address, headers, clients)
        rates.append(len(seconds) / SECONDS)
        p95 = statistics.quantiles(seconds, n=20)[-1] if len(seconds) > 1 else seconds[0]
        rows.append(
            [
                name,
                str(clients),
                f"{rates[-1]:.1f}",
                f"{rates[-1] / rates[0]:.1f}",
                f"{1000 * statistics.median(seconds):.0f} ms",
                f"{1000 * p95:.0f} ms",
            ]
        )

    add("made for each request", board, ENDED_SESSION)
    add("shared", board, {})
    with _changing(site):
        add("shared, and changed twice a second", board, {})
    add("asked for again with its `ETag`", board, {"If-None-Match": tag})
    add("poll that brings nothing new", poll, polls)
    add("the same, one client", poll, polls, clients=1)
    add("the health check", "/healthz", {})
    heads = ("leaderboard of 2,000 teams", "clients", "answers/s", "to the first row", "median", "95th percentile")
    return Section(
        f"Many readers, on {connection.vendor}",
        [
            "`gunicorn --config python:config.web_server`, clients on the same host, no limit of requests, "
            f"{SECONDS:g} s each.",
            "",
            *table(heads, rows),
        ],
    )
