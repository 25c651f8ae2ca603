"""How far the entries of the demo are, as a table and as lines."""

from __future__ import annotations

import io
from unittest.mock import Mock

import pytest
from rich.console import Console

from demo.entry_progress import EntryProgress, changes, entry_progress, progress_table
from demo.submission_result import DemoResult
from submissions.models import Submission

State = Submission.State

STATES = [
    EntryProgress("Robust Owls", "model"),
    EntryProgress("Plain Otters", "model", "queued"),
    EntryProgress("Hasty Hares", "untargeted", "building"),
    EntryProgress("Salty Toads", "targeted", "playing", 3, 9),
    EntryProgress("Small Wrens", "model", "scored", score="8.04", rank=2),
    EntryProgress("Careless Crows", "model", "rejected"),
]


def test_the_table_shows_how_far_each_entry_is_and_how_many_are_done() -> None:
    out = io.StringIO()
    Console(file=out, width=80).print(progress_table(STATES, " 2:10"))
    title, head, _, *rows = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert title == "2:10 2 of 6 entries done"
    assert [cell.strip() for cell in head.split("┃")] == ["team", "track", "state", "score", "rank"]
    assert [[cell.strip() for cell in row.split("│")] for row in rows] == [
        ["Robust Owls", "model", "not pushed", "", ""],
        ["Plain Otters", "model", "queued", "", ""],
        ["Hasty Hares", "untargeted", "building", "", ""],
        ["Salty Toads", "targeted", "playing, 3 of 9 matches", "", ""],
        ["Small Wrens", "model", "scored", "8.04", "2"],
        ["Careless Crows", "model", "rejected", "", ""],
    ]


@pytest.mark.parametrize(
    ("state", "scored", "shown"),
    [
        (State.RECEIVED, None, "queued"),
        (State.BUILDING, None, "building"),
        (State.CHECKING, None, "smoke test"),
        (State.READY, None, "playing"),
        (State.READY, True, "scored"),
        (State.READY, False, "void"),
        (State.REJECTED, None, "rejected"),
        (State.WITHDRAWN, True, "withdrawn"),
    ],
)
def test_the_state_follows_from_the_submission_and_its_result(state: State, scored: bool | None, shown: str) -> None:
    result = None if scored is None else DemoResult("1", Mock(Submission), "8.04", scored=scored, rank=2)
    entry = entry_progress("Small Wrens", "model", state, result, (0, 0))
    assert entry.state == shown
    assert entry.score == ("8.04" if shown == "scored" else "")


def test_what_is_measured_again_keeps_its_score() -> None:
    result = DemoResult("1", Mock(Submission), "8.04", rank=2)
    entry = entry_progress("Small Wrens", "model", State.READY, result, (3, 9))
    assert entry.cells == ("Small Wrens", "model", "playing, 3 of 9 matches", "8.04", "2")
    assert not entry.ended


def test_lines_say_what_changed_and_only_once() -> None:
    lines = list(changes([], STATES))
    assert lines == ["Hasty Hares, untargeted: building", "Salty Toads, targeted: playing"]
    further = [*STATES[:3], EntryProgress("Salty Toads", "targeted", "playing", 4, 9)]
    assert list(changes(STATES, further)) == [], "another match of the same entry is no line"
