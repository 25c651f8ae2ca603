"""The public pages at size: server time, queries and weight of each, on PostgreSQL where DATABASE_URL names one."""

from __future__ import annotations

import gzip
import importlib
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import django
import psycopg2
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench.interleaved import Spread, ratios, say, take_turns
from bench.programs import NotAvailableError
from bench.report import Section, table
from bench.sizes import sized
from bench.static_files import collect_static
from bench.tables import analyse, make_tables

ROUNDS = sized(9, smallest=1)
TRIVIAL = "what every page has (`/docs`)"
LIMIT_BYTES = 150_000

ENDED_SESSION = {"Cookie": "sessionid=of-nobody"}
"""The header of a reader whose session has ended: each page is made for them, while the public gets shared ones."""


@dataclass(frozen=True)
class Answer:
    """One answer: its server time in seconds, queries, and bytes before and after compression.

    The server time is that of the processor, in the site and in the database: load on the host changes it little.
    """

    seconds: float
    queries: int
    size: int
    sent: int


@dataclass(frozen=True)
class Page:
    """A page to measure, and the milliseconds that its server time has to stay under; 0 for none."""

    address: str
    limit: int = 0
    weighed: bool = False


class QueryCounter:
    """Counts the queries of a connection, and keeps none of them."""

    queries = 0

    def __call__(self, execute: Callable[..., Any], *rest: Any) -> Any:
        self.queries += 1
        return execute(*rest)


def measure() -> Section:
    """Measure with Django's test client, on a database of its own."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder, own_database(folder) as address:
        os.environ |= {"GAUNTLET_STATE": folder, "DATABASE_URL": address, "GAUNTLET_ANONYMOUS_REQUESTS": "0"}
        django.setup()
        say("pages: creating the site")
        make_tables()
        collect_static()
        try:
            return _measure()
        finally:
            connection.close()


def _measure() -> Section:
    site = importlib.import_module("bench.large_site")  # modules that import models wait until Django is set up
    site.make_season()
    site.make_matrix()
    match = site.make_match()
    analyse()
    pages = _pages(site, match)
    client = Client(headers={"host": "localhost", "accept-encoding": "gzip"} | ENDED_SESSION)
    first = {name: get(client, page.address) for name, page in pages.items()}
    seen = take_turns("pages", {name: partial(get, client, page.address) for name, page in pages.items()}, ROUNDS)
    trivial = [each.seconds for each in seen[TRIVIAL]]
    rows = [
        [
            name,
            f"under {page.limit} ms" if page.limit else "",
            Spread.of([1000 * each.seconds for each in seen[name]]).text(0, " ms"),
            ratios([each.seconds for each in seen[name]], trivial).text(1),
            f"{1000 * first[name].seconds:.0f} ms",
            f"{median(each.queries for each in seen[name]):.0f}",
            *map(kilobytes, (seen[name][-1].size, seen[name][-1].sent)),
        ]
        for name, page in pages.items()
    ]
    heads = ("page", "target", "server time", "to the trivial page", "first request", "queries", "size", "compressed")
    over = [name for name, page in pages.items() if page.weighed and seen[name][-1].size > LIMIT_BYTES]
    return Section(
        f"Pages at size, on {connection.vendor}",
        [
            f"{site.TEAMS * site.EACH:,} scored submissions of {site.TEAMS:,} teams in one track. Server time is "
            "processor time of the site and of its connection to the database; the first request fills caches.",
            "",
            *table(heads, rows),
            "",
            f"Home and leaderboard stay under {LIMIT_BYTES // 1000} kB: {'no, ' + ', '.join(over) if over else 'yes'}.",
        ],
    )


def _pages(site: Any, match: Any) -> Mapping[str, Page]:
    season, matrix = f"/competitions/{site.SEASON}", f"/competitions/{site.MATRIX}"
    return {
        TRIVIAL: Page("/docs"),
        "home": Page("/", 100, weighed=True),
        "competition": Page(season),
        "leaderboard": Page(f"{season}/leaderboards/model", 100, weighed=True),
        "leaderboard, sorted": Page(f"{season}/leaderboards/model?sort=team"),
        "leaderboard of a past time": Page(f"{season}/leaderboards/model?at={site.past_time()}"),
        "picture to share": Page(f"{season}/leaderboards/model/share.png"),
        "team": Page("/teams/team-7"),
        "history": Page(f"{season}/history/model"),
        "matrix of 100 x 100": Page(f"{matrix}/matrix/untargeted", 150),
        "matrix of a round, 100 x 100": Page(f"{matrix}/rounds/1/matrix/untargeted", 150),
        "match of 500 samples": Page(f"/matches/{match.pk}", 100),
    }


def get(client: Client, address: str) -> Answer:
    """Request a page twice: for its queries and its size, and for its server time."""
    with CaptureQueriesContext(connection) as captured:
        response = client.get(address)
        queries = len(captured)  # the next request forgets them
    if response.status_code != 200:
        raise RuntimeError(f"{address} answers {response.status_code}")
    content = response.getvalue()
    size = len(gzip.decompress(content)) if response.headers.get("Content-Encoding") == "gzip" else len(content)
    start = processor_seconds()
    client.get(address)
    used = processor_seconds() - start
    return Answer(used, queries, size, len(content))


def processor_seconds() -> float:
    """Return the processor time that this process and its connection to the database have used."""
    return time.process_time() + database_seconds()


def database_seconds() -> float:
    """Return the processor time that PostgreSQL has used for this connection; SQLite runs in this process."""
    if connection.vendor != "postgresql":
        return 0.0
    connection.ensure_connection()
    schedule = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    try:
        return int(schedule.read_text().split()[0]) / 1e9
    except FileNotFoundError as error:
        raise NotAvailableError("the server of DATABASE_URL has to run on this host") from error


def own_memory(name: str) -> int:
    """Return a number of bytes that Linux knows of this process, such as `VmRSS`."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{name}:")) * 1024


def kilobytes(size: int) -> str:
    """Return a size in thousands of bytes."""
    return f"{size / 1000:.0f} kB"


@contextmanager
def own_database(folder: str) -> Iterator[str]:
    """Make a database beside the one that DATABASE_URL names, or a SQLite file; yield its address."""
    server = os.environ.get("DATABASE_URL", "")
    if not server.startswith("postgres"):
        yield f"sqlite:///{folder}/bench.sqlite3"
        return
    name = f"bench_{secrets.token_hex(6)}"
    _on_server(server, f'create database "{name}"')
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        _on_server(server, f'drop database "{name}" with (force)')


def _on_server(address: str, statement: str) -> None:
    with closing(psycopg2.connect(address)) as session:
        session.autocommit = True
        with session.cursor() as cursor:
            cursor.execute(statement)
