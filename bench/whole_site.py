"""Speed of the whole site: pieces claimed, played in the process sandbox, and committed to PostgreSQL."""

from __future__ import annotations

import importlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import django
import psycopg2
from django.db import connection

from bench.interleaved import say
from bench.programs import ROOT, NotAvailableError
from bench.report import Section, table
from bench.sizes import sized
from bench.tables import make_tables

SAMPLES, PIECE, QUERIES = sized(60, smallest=20), 10, sized(100, smallest=5)
NETWORK, ANSWER, ATTACK = sized(
    ("plain-resnet", "predict_labels(NETWORK, images)", "boundary"),
    smallest=("numpy-classifier", "scores(images).argmax(axis=1)", "gaussian-noise"),
)
QUICK = "numpy-classifier"
WORKERS = sized((1, 2, 4), smallest=(1,))
LARGE = sized(30, smallest=2)
"""So many times the small network take as long as one ResNet-18."""

FRAMES = sized(1500, smallest=20)


def measure() -> Section:
    """Measure on a database of its own; raise `NotAvailableError` without PostgreSQL."""
    address = os.environ.get("DATABASE_URL", "")
    if not address.startswith("postgres"):
        raise NotAvailableError('the site needs PostgreSQL: run eval "$(.ci/services start)"')
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder, _database(address) as fresh:
        os.environ |= {
            "GAUNTLET_STATE": folder,
            "GAUNTLET_SANDBOX": "process",
            "DATABASE_URL": fresh,
        }
        django.setup()
        say("whole site: creating the site")
        make_tables()
        try:
            return _measure(importlib.import_module("bench.whole_site_setup"))
        finally:
            connection.close()


@contextmanager
def _database(address: str) -> Iterator[str]:
    """Create an empty database beside the one at `address`, and drop it at the end; its address."""
    name = f"gauntlet_bench_{os.getpid()}"
    admin = psycopg2.connect(address)
    admin.autocommit = True
    try:
        with admin.cursor() as cursor:
            cursor.execute(f'CREATE DATABASE "{name}"')
        try:
            yield urlunsplit(urlsplit(address)._replace(path=f"/{name}"))
        finally:
            with admin.cursor() as cursor:
                cursor.execute(f'DROP DATABASE "{name}"')
    finally:
        admin.close()


class Worker:
    """A process of its own that plays what waits."""

    def __init__(self, number: int) -> None:
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        path = os.pathsep.join((str(ROOT), str(ROOT / "platform")))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.whole_site_worker", f"bench/{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **one_thread, "PYTHONPATH": path},
        )
        self.wait()

    def start(self) -> None:
        """Let it play."""
        assert self._process.stdin is not None
        self._process.stdin.write("play\n")
        self._process.stdin.flush()

    def wait(self) -> None:
        """Wait for its next answer."""
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError("a worker of the measured site has ended")

    def end(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _measure(site: Any) -> Section:
    competition = site.begin(SAMPLES, PIECE, QUERIES)
    workers = [Worker(number) for number in range(max(WORKERS))]
    try:
        # 1. a match in a new process, and the same match once more, beside the bare network
        small, large = (
            site.bundled_player(competition, NETWORK),
            site.repeated_player(competition, NETWORK, ANSWER, LARGE),
        )
        rows: list[list[str]] = []
        starts: list[list[Any]] = []
        networks = [(1, small, f"`{NETWORK}`"), (LARGE, large, f"`{NETWORK}` {LARGE} times")]
        for times, model, title in networks[sized(slice(None), smallest=slice(1, 2))]:
            bare = [_bare_rate(times)]
            cold = _play(site, competition, model, workers[:1])
            bare.append(_bare_rate(times))
            warm = _play(site, competition, model, workers[:1])
            bare.append(_bare_rate(times))
            rows += _rows(title, statistics.median(bare), cold, warm)
            starts = starts or [cold, warm]
        # 2. pieces in a minute by several workers
        quick = site.bundled_player(competition, QUICK)
        rates = {}
        for count in WORKERS:
            pieces = _play(site, competition, quick, workers[:count])
            rates[count] = 60 * len(pieces) / _seconds(pieces[0].claimed_at, max(p.played_at for p in pieces))
    finally:
        for worker in workers:
            worker.end()
    return Section("The whole site", _lines(rows, starts[0], starts[1], rates))


def _play(site: Any, competition: Any, model: Any, workers: list[Worker]) -> list[Any]:
    """Play one new match by `workers`; return its pieces in the order of their claims."""
    say(f"whole site: {model}, workers: {len(workers)}")
    match = site.new_match(competition, model, ATTACK)
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.wait()
    return sorted(site.played(match), key=lambda piece: piece.claimed_at)


def _bare_rate(times: int) -> float:
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "bench.bare_model", NETWORK, str(times), str(PIECE), str(FRAMES // times)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **one_thread}
    )
    return float(done.stdout)


def _seconds(start: datetime, end: datetime) -> float:
    return (end - start) / timedelta(seconds=1)


def _rate(pieces: list[Any]) -> float:
    """Images per second from the first claim to the last commit."""
    images = sum(int(piece.images) for piece in pieces)
    return images / _seconds(pieces[0].claimed_at, pieces[-1].played_at)


def _rows(title: str, bare: float, cold: list[Any], warm: list[Any]) -> list[list[str]]:
    """Return the rates of the network alone and of its matches."""
    rates = {
        f"{title} alone, frames of {PIECE}, one thread": bare,
        "a match in a new worker process": _rate(cold),
        "the next match": _rate(warm),
        "the same without its first piece": _rate(warm[1:]),
    }
    return [[name, f"{rate:.0f}", f"{rate / bare:.2f}"] for name, rate in rates.items()]


def _lines(rows: list[list[str]], cold: list[Any], warm: list[Any], rates: dict[int, float]) -> list[str]:
    def first(pieces: list[Any]) -> str:
        return f"{_seconds(pieces[0].claimed_at, pieces[0].played_at):.1f} s"

    later = statistics.median(_seconds(p.claimed_at, p.played_at) for p in (*cold[1:], *warm[1:]))
    ones = [[f"{count}", f"{rate:.1f}", f"{rate / rates[1]:.2f}"] for count, rate in rates.items()]
    return [
        *table(
            [
                f"against `{ATTACK}`, {SAMPLES} samples, {QUERIES} queries, one worker",
                "images/s",
                "to bare",
            ],
            rows,
        ),
        "",
        *table(
            ["a piece, from claim to commit", "time"],
            [
                ["the first in a new worker process", first(cold)],
                ["the first of the next match", first(warm)],
                ["later ones (median)", f"{later:.1f} s"],
            ],
        ),
        "",
        *table([f"workers, `{QUICK}` against `{ATTACK}`", "pieces a minute", "to one worker"], ones),
    ]
