"""Every external call of a season fails once, each in a run of its own; what the season ends with stays the same.

`GAUNTLET_FAULTS=all` lets every call of every phase fail; otherwise so many of one phase are drawn, and `GAUNTLET_SEED`
repeats the draw.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from itertools import zip_longest
from typing import NamedTuple

import pytest

from tests.platform.conftest import FakeClock
from tests.platform.faults.external_calls import Call, ExternalCalls, Failure
from tests.platform.faults.results import differences, results
from tests.platform.faults.running_site import Snapshot
from tests.platform.faults.seasons import Phase, Season

pytestmark = pytest.mark.django_db(transaction=True)

CHOSEN = os.environ.get("GAUNTLET_FAULTS", "2")

PARTS = 8 if CHOSEN == "all" else 1
"""Into how many tests the calls of a format are divided, for several processes."""

SHOWN = 6
"""Differences that a failure shows."""


class Failed(NamedTuple):
    """A call of a phase, by its number, that fails."""

    number: int
    failure: Failure


@pytest.mark.timeout(24 * 3600)
# SQLite cannot close the cursor of rows that were still read when the connection was lost
@pytest.mark.filterwarnings("ignore:Exception ignored in. <generator object cursor_iter")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", ["curves", "query", "transfer"])
def test_a_call_that_fails_once_changes_no_result(
    season: Season, calls: ExternalCalls, the_clock: FakeClock, part: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    seed = int(os.environ.get("GAUNTLET_SEED") or random.SystemRandom().randrange(10**9))
    sys.stdout.write(f"GAUNTLET_SEED={seed} GAUNTLET_FAULTS={CHOSEN}\n")  # shown where it fails
    draw, problems, runs = random.Random(seed), [], 0
    phases = season.phases
    last = len(phases) if CHOSEN == "all" else draw.randrange(len(phases)) + 1
    for number, phase in enumerate(phases[:last], start=1):
        the_clock.forward(minutes=1)
        if CHOSEN != "all" and number < last:
            phase.begin()
            season.site.go_on(lambda: True)
            continue
        before = season.site.snapshot(tmp_path_factory.mktemp("before"))
        undisturbed, expected = _undisturbed(season, calls, phase)
        if CHOSEN == "all":  # the first time, this process reads what it keeps in memory
            season.site.restore(before)
            undisturbed, expected = _undisturbed(season, calls, phase)
        answerless = sum(call.effective for call in undisturbed)
        sys.stdout.write(f"{phase.name}: {len(undisturbed)} calls, {answerless} can lose an answer\n")
        after = season.site.snapshot(tmp_path_factory.mktemp("after"))
        for failed in _chosen(undisturbed, draw)[part::PARTS]:
            runs += 1
            if found := _found(season, calls, phase, before, failed, expected):
                problems.append(f"{phase.name}, {failed.failure} {undisturbed[failed.number]}: {found}")
                sys.stdout.write(f"{problems[-1]}\n")
        season.site.restore(after)
    sys.stdout.write(f"{runs} runs\n")
    assert runs
    assert not problems


def _undisturbed(season: Season, calls: ExternalCalls, phase: Phase) -> tuple[list[Call], dict[str, Counter[str]]]:
    """Play a phase; return its calls, and what it ends with."""
    calls.begin()
    phase.begin()
    season.site.go_on(lambda: True)
    calls.counting = False
    season.site.sweep()
    return list(calls.seen), results()


def _chosen(calls: list[Call], draw: random.Random) -> list[Failed]:
    """Return which calls fail, and how: all, or some of each kind, from different lines of the site."""
    every = [Failed(number, Failure.REFUSED) for number in range(len(calls))]
    every += [Failed(number, Failure.UNANSWERED) for number, call in enumerate(calls) if call.effective]
    if CHOSEN == "all":
        return every
    kinds: dict[tuple[str, Failure], dict[str, Failed]] = {}
    for failed in every:
        call = calls[failed.number]
        kinds.setdefault((call.kind, failed.failure), {}).setdefault(call.site, failed)
    drawn = [draw.sample(list(sites.values()), len(sites)) for sites in kinds.values()]
    draw.shuffle(drawn)
    # one of each kind, then a second one
    return [failed for row in zip_longest(*drawn) for failed in row if failed is not None][: int(CHOSEN)]


def _found(
    season: Season,
    calls: ExternalCalls,
    phase: Phase,
    before: Snapshot,
    failed: Failed,
    expected: dict[str, Counter[str]],
) -> str:
    """Play a phase in which a call fails; return what is wrong at its end."""
    season.site.restore(before)
    calls.begin(failed.number, failed.failure)
    hangs = ""
    try:
        phase.begin()
        season.site.go_on(lambda: not differences(expected, results()))
    except AssertionError as error:
        hangs = str(error)
    finally:
        calls.counting = False
    if CHOSEN == "all" and failed.number >= len(calls.seen):
        return "the call was not made"
    season.site.sweep()  # which changes nothing more
    return "\n    ".join(filter(None, [hangs, *differences(expected, results())[:SHOWN]]))
