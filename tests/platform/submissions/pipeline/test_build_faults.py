"""When a submission is tried again after a platform error, and when it is given up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from submissions.build_outcomes import FAULT, HOST, LOST, OVERDUE, STOPPED, Attempt, is_given_up, pause_after
from workers.fault_record import PAUSES

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TEAM = "build_failed"
NONE = timedelta(0)


def attempts(*outcomes: str) -> list[Attempt]:
    return [Attempt(1, outcome, "host/build/7", NOON) for outcome in outcomes]


@pytest.mark.parametrize(
    ("outcomes", "pause"),
    [
        ([], NONE),
        ([FAULT], PAUSES[0]),
        ([OVERDUE], PAUSES[0]),
        ([FAULT, FAULT], PAUSES[1]),
        ([LOST], NONE),
        ([LOST, LOST], PAUSES[0]),
        ([HOST], NONE),
        ([HOST, HOST], PAUSES[0]),
        ([HOST] * 9, PAUSES[-1]),
        ([FAULT, STOPPED], NONE),
        ([FAULT, STOPPED, FAULT], PAUSES[1]),
        ([FAULT, TEAM], NONE),
        ([FAULT, TEAM, FAULT], PAUSES[0]),
        ([FAULT, FAULT, FAULT], NONE),
        ([FAULT, FAULT, FAULT, FAULT], PAUSES[0]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_a_submission_waits_longer_after_each_fault_in_a_row(outcomes: list[str], pause: timedelta) -> None:
    until = pause_after(attempts(*outcomes))
    assert until == (NOON + pause if pause else None)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([FAULT, FAULT], False),
        ([FAULT, LOST, OVERDUE], True),
        ([FAULT, HOST, FAULT, STOPPED, FAULT], True),
        ([FAULT, FAULT, TEAM, FAULT], False),
        ([FAULT, FAULT, FAULT, FAULT], False),
        ([FAULT] * 6, True),
        ([HOST] * 9, False),
        ([FAULT, FAULT, FAULT, STOPPED], False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_it_is_given_up_after_three_faults_in_a_row_that_count(outcomes: list[str], expected: bool) -> None:
    assert is_given_up(attempts(*outcomes)) is expected
