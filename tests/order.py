"""What each pass of the tests runs, and in which order its processes take them."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")

TESTS = Path(__file__).resolve().parent
DATABASE_FOLDERS = tuple(
    TESTS / "platform" / name for name in ("accounts", "competitions", "formats", "rounds", "submissions", "workers")
)
"""Tests of the apps that write: their locks, constraints, queues and queries."""


def add_marks(items: Iterable[pytest.Item]) -> None:
    """Mark the first test of each file, journeys by their folder, and what the database can change.

    The database can change the tests of some folders, and all that commit. CI runs them on PostgreSQL, and the first of
    each file on SQLite, too, if it is not slow; `make test` runs all of them on SQLite.
    """
    files: set[Path] = set()
    for item in items:
        if item.path not in files:
            files.add(item.path)
            item.add_marker("first")
        if TESTS / "journeys" in item.path.parents:
            item.add_marker("journey")
        elif commits(item) or not set(DATABASE_FOLDERS).isdisjoint(item.path.parents):
            item.add_marker("database")
            if item.get_closest_marker("first") and not seconds_of(item):
                item.add_marker("both")


def commits(item: pytest.Item) -> bool:
    """Whether a test really commits: others can see what it writes, and wait for its locks."""
    mark = item.get_closest_marker("django_db")
    return "transactional_db" in getattr(item, "fixturenames", ()) or bool(mark and mark.kwargs.get("transaction"))


def together(item: pytest.Item) -> Hashable:
    """Return what tests have in common that run one after another: the file, if they share fixtures of it."""
    found = getattr(item, "_fixtureinfo", None)
    used = found.name2fixturedefs.values() if found is not None else ()
    shared = any(each.scope in {"class", "module", "package"} for definitions in used for each in definitions)
    return item.path if shared else item.nodeid


def spread(
    items: Sequence[T], processes: int, seconds: Callable[[T], float], group: Callable[[T], Hashable]
) -> list[T]:
    """Return the tests in an order in which the slow ones begin first, each process with some of them.

    xdist's `worksteal` hands the list out in as many equal parts as there are processes. The last of three or more ends
    with the slowest of its slow tests: whole sites start and wait, and the first minutes would leave processors idle.
    Those of a `group` stay together. All others are shuffled once more, equally in each process: many of one file, and
    all that commit, wait for servers and time limits, and all processes would do so at the same time.
    """
    sizes = [(len(items) + number) // processes for number in range(processes)]
    parts: list[list[T]] = [[] for _ in sizes]
    for item in sorted(filter(seconds, items), key=seconds, reverse=True):
        min((part for part, size in zip(parts, sizes, strict=True) if len(part) < size), key=len).append(item)
    if processes > 2:
        parts[-1].reverse()
    groups = [list(each) for _, each in groupby((item for item in items if not seconds(item)), group)]
    random.Random(len(items)).shuffle(groups)
    others = chain.from_iterable(groups)
    for part, size in zip(parts, sizes, strict=True):
        part += islice(others, size - len(part))
    return [item for part in parts for item in part]


def seconds_of(item: pytest.Item) -> float:
    """What the mark `slow` says of a test; 0 without."""
    mark = item.get_closest_marker("slow")
    return float(mark.args[0]) if mark else 0.0
