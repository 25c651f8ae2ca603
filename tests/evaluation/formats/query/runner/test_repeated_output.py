"""Output of the instances of a failing player."""

from __future__ import annotations

import pytest

from evaluation.formats.query.runner.repeated_output import without_repetition


@pytest.mark.parametrize(
    ("logs", "shown"),
    [
        ([], ""),
        (["", "once\n", ""], "once\n"),
        (["a\n", "b\n", "a\n"], "a\nb\na\n"),
        (["a", "a"], "a\n(the same output once more, after a new start)\n"),
        (["a\n", "a\n", "", "a\n", "b\n"], "a\n(the same output 2 more times, after a new start)\nb\n"),
    ],
)
def test_equal_outputs_that_follow_each_other_are_shown_once(logs: list[str], shown: str) -> None:
    assert without_repetition(logs) == shown
