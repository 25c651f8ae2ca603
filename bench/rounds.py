"""A round of 100 and 100: the cost of a planning step, of a step on the database, and of the public page."""

from __future__ import annotations

import importlib
import os
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import django
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench.interleaved import milliseconds, ratios, say, seconds_of, take_turns
from bench.pages import ENDED_SESSION
from bench.report import Section, table
from bench.sizes import sized
from bench.static_files import collect_static
from bench.synthetic_results import FIELD, drawn_facts, play
from bench.tables import make_tables
from evaluation.domain.players import TrackName
from evaluation.formats.query.tournament.round_state import RoundFacts, advance

TURNS = sized(15, smallest=1)
PAGE_TURNS, PAGE_WARM_UP = sized((60, 3), smallest=(2, 0))
LAST = "the last, which scores"
PAGE, SMALL = "the round, 100 models and 100 untargeted attacks", "the same site's rules"

Step = tuple[str, RoundFacts]
"""The name of a step, and the facts known at that step."""


def measure() -> Section:
    """Measure planning as a pure function, a whole round on a temporary SQLite database, and its page."""
    lines = [*_planning({schedule: _steps(schedule) for schedule in ("ladder", "halving")}), ""]
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        os.environ |= {"GAUNTLET_STATE": folder, "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3"}
        django.setup()
        say("rounds: creating the site")
        make_tables()
        collect_static()
        try:
            # modules that import models wait until Django is set up
            site = importlib.import_module("bench.round_site")
            lines += [*_database_steps(site), "", *_page(site)]
        finally:
            connection.close()
    return Section("A round of 100 and 100", lines)


def _steps(schedule: str) -> list[Step]:
    """Return every step of a final, with its sweep of the eliminated attacks."""
    known = drawn_facts(schedule)
    steps: list[Step] = []
    while not (state := advance(known)).over:
        steps.append((f"step {len(steps) + 1}", known))
        known = replace(known, results=play(known.results, state.requests))
    return [*steps, (LAST, known)]


def _planning(rounds: Mapping[str, Sequence[Step]]) -> list[str]:
    rows, targets = [], []
    for schedule, steps in rounds.items():
        known = {name: _read(facts) for name, facts in steps}
        contenders = {name: partial(seconds_of, partial(advance, facts)) for name, facts in steps}
        contenders["reading"] = partial(seconds_of, partial(_read, steps[-1][1]))
        seen = take_turns(f"planning, {schedule}", contenders, TURNS)
        asking = [name for name, _ in steps[:-1]]
        by_time = sorted(asking, key=lambda name: statistics.median(seen[name]))
        chosen = {
            f"{schedule}: the median of {len(asking)} steps that ask for more": by_time[len(asking) // 2],
            f"{schedule}: the worst of them": by_time[-1],
            f"{schedule}: {LAST}": LAST,
        }
        rows += [
            [text, f"{known[name]:,}", milliseconds(seen[name]), ratios(seen[name], seen["reading"]).text(1)]
            for text, name in chosen.items()
        ]
        targets += [
            [f"{schedule}: the worst step of planning", "under 100 ms", milliseconds(seen[by_time[-1]])],
            [f"{schedule}: {LAST}", "under 100 ms", milliseconds(seen[LAST])],
        ]
    return [
        *table(["a step of planning", "triples known", "milliseconds", "to reading all of the round's once"], rows),
        "",
        *table(["", "target", "measured: median of rounds (smallest to largest)"], targets),
    ]


def _read(facts: RoundFacts) -> int:
    """Look once at each known triple, the least work of any planning; return their number."""
    distances = [row.distance for rows in facts.results.values() for row in rows.values()]
    return len(distances)


def _database_steps(site: Any) -> list[str]:
    round_ = site.begin(FIELD)
    steps = list(site.play_to_the_end(round_, FIELD))
    publication = importlib.import_module("rounds.publishing.publication")
    publication.publish(round_=round_, by=site.organiser_of(round_.competition), reason="measured")
    by_time = sorted(steps[:-1], key=lambda step: step.seconds)
    chosen = {
        "the first": steps[0],
        f"the median of {len(by_time)} that ask for more": by_time[len(by_time) // 2],
        "the worst of them": by_time[-1],
        "the last: scores, and the file of the outcome": steps[-1],
    }
    rows = [
        [text, f"{step.triples:,}", f"{step.asked:,}", *map(_one, (step.seconds, step.reading)), str(step.queries)]
        for text, step in chosen.items()
    ]
    return [
        *table(
            [
                "a whole step on SQLite",
                "triples known",
                "pairs asked for",
                "processor time",
                "of it reading rows",
                "queries",
            ],
            rows,
        ),
        "",
        *table(
            ["rows of the whole round", "bound", "measured"],
            [[name, f"{most:,}" if most else "", f"{count:,}"] for name, count, most in site.row_counts(round_, FIELD)],
        ),
    ]


def _page(site: Any) -> list[str]:
    client = Client(headers={"host": "localhost"} | ENDED_SESSION)
    addresses = {
        PAGE: site.PAGE,
        "its untargeted track": f"{site.PAGE}?track={TrackName.UNTARGETED}",
        SMALL: site.SMALL,
    }
    get = partial(site.get, client)
    contenders = {name: partial(seconds_of, partial(get, address)) for name, address in addresses.items()}
    seen = take_turns("round page", contenders, PAGE_TURNS, warm_up=PAGE_WARM_UP)
    queries = {name: _queries(partial(get, address)) for name, address in addresses.items()}
    rows = [
        [
            name,
            f"{1000 * statistics.median(each):.1f} ms",
            f"{1000 * statistics.quantiles(each, n=20)[-1]:.1f} ms",
            ratios(each, seen[SMALL]).text(),
            str(queries[name]),
        ]
        for name, each in seen.items()
    ]
    slowest = max(list(seen)[:2], key=lambda name: statistics.median(seen[name]))
    return [
        *table(["page, server time", "median", "95th percentile", "to the small page", "queries"], rows),
        "",
        *table(
            ["", "target", "measured: median of rounds (smallest to largest)"],
            [["server time of the round's page", "under 150 ms", milliseconds(seen[slowest])]],
        ),
    ]


def _queries(work: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as captured:
        work()
    return len(captured)


def _one(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"
