"""A large leaderboard: its page, and the cost of a score that moves every rank."""

from __future__ import annotations

import importlib
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import django
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, reverse

from bench.interleaved import milliseconds, ratios, say, seconds_of, take_turns
from bench.pages import ENDED_SESSION
from bench.programs import NotAvailableError
from bench.report import Section, table
from bench.sizes import sized
from bench.static_files import collect_static
from bench.tables import make_tables

TEAMS = sized(10_000, smallest=10)
ROUNDS = sized(15, smallest=1)
SLUG = "bench"
CROWDED, EMPTY = "model", "targeted"


def measure() -> Section:
    """Measure with Django's test client on a temporary SQLite database; raise `NotAvailableError` without the page."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        os.environ |= {"GAUNTLET_STATE": folder, "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3"}
        django.setup()
        addresses = {kind: _address(kind) for kind in (CROWDED, EMPTY)}
        say("leaderboard: creating the site")
        make_tables()
        collect_static()
        try:
            return _measure(addresses)
        finally:
            connection.close()


def _address(kind: str) -> str:
    try:
        return reverse("pages:board", args=[SLUG, kind])
    except NoReverseMatch as error:
        raise NotAvailableError("the site has no page pages:board") from error


def _measure(addresses: dict[str, str]) -> Section:
    # modules that import models wait until Django is set up
    crowd, scoring, visibility = map(
        importlib.import_module,
        (
            "bench.synthetic_competition",
            "formats.query.leaderboards.scoring",
            "formats.query.leaderboards.score_visibility",
        ),
    )
    competition = crowd.make_competition(SLUG)
    track = competition.tracks.get(name=CROWDED)
    pool = crowd.make_pool(competition)
    crowd.fill(competition, pool, TEAMS)
    filled = seconds_of(partial(scoring.recompute, track))
    moved = _all_ranks_move(crowd, scoring, track, pool)

    client = Client(headers={"host": "localhost"} | ENDED_SESSION)
    contenders = {kind: partial(seconds_of, partial(_get, client, address)) for kind, address in addresses.items()}
    contenders["processor"] = partial(_processor_seconds, partial(_get, client, addresses[CROWDED]))
    contenders["selector"] = partial(seconds_of, partial(visibility.board, track))
    seen = take_turns("leaderboard", contenders, ROUNDS)
    queries = {kind: _queries(client, address) for kind, address in addresses.items()}
    rows = [
        [f"leaderboard of {TEAMS:,} submissions", milliseconds(seen[CROWDED]), str(queries[CROWDED])],
        ["leaderboard without any", milliseconds(seen[EMPTY]), str(queries[EMPTY])],
    ]
    targets = [
        ["server time of the large page", "under 100 ms", milliseconds(seen[CROWDED])],
        ["of it, processor time", "", milliseconds(seen["processor"])],
        ["its queries", "at most 10", str(queries[CROWDED])],
        ["its time to the empty page's", "", ratios(seen[CROWDED], seen[EMPTY]).text()],
        ["of it, reading the rows", "", milliseconds(seen["selector"])],
        ["standings, all new", "", f"{filled:.2f} s"],
        ["standings, when a score moves every rank", "", f"{moved:.2f} s"],
    ]
    return Section(
        "A large leaderboard",
        [
            *table(["page, server time", "milliseconds", "queries"], rows),
            "",
            *table(["", "target", "measured: median of rounds (smallest to largest)"], targets),
        ],
    )


def _all_ranks_move(crowd: Any, scoring: Any, track: Any, pool: Any) -> float:
    """Return the seconds of a recompute after the last team became the first."""
    last = track.standings.order_by("-rank").first()
    crowd.score([last.evaluation.submission], pool, first=2 * TEAMS)
    return seconds_of(partial(scoring.recompute, track))


def _get(client: Client, address: str) -> None:
    response = client.get(address)
    if response.status_code != 200:
        raise RuntimeError(f"{address} answers {response.status_code}")


def _queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        _get(client, address)
    return len(captured)


def _processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor seconds of the work, which load on the host changes little."""
    start = time.process_time()
    work()
    return time.process_time() - start
