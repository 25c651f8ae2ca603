"""Quota arithmetic."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submissions.quota import (
    REFUNDED_FAULTS,
    REFUNDED_REFUSALS,
    WINDOW,
    allowance,
    refunds_fault,
    refunds_refusal,
)

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def hours_ago(*hours: float) -> list[datetime]:
    return [NOON - timedelta(hours=each) for each in hours]


@pytest.mark.parametrize(
    ("taken", "quota", "left", "next_in_hours"),
    [
        ((), 5, 5, None),
        ((1, 2, 3), 5, 2, None),
        ((1, 2, 3, 4, 20), 5, 0, 4),
        ((1, 2, 3, 4, 24), 5, 1, None),
        ((1, 2, 3, 4, 5, 20), 5, 0, 19),  # the quota was lowered: two slots must become free
        ((), 0, 0, None),
    ],
)
def test_it_counts_the_slots_of_the_last_24_hours(
    taken: tuple[float, ...], quota: int, left: int, next_in_hours: float | None
) -> None:
    found = allowance(hours_ago(*taken), quota, NOON)
    assert found.left == left
    assert found.next_at == (None if next_in_hours is None else NOON + timedelta(hours=next_in_hours))
    assert list(found.frees_at) == sorted(found.frees_at)


moments = st.lists(st.integers(0, 4 * 24 * 60), max_size=60).map(sorted)


@given(asked=moments, quota=st.integers(1, 6))
def test_no_24_hours_exceed_the_quota_and_the_promised_time_is_correct(asked: list[int], quota: int) -> None:
    accepted: list[datetime] = []
    for minute in asked:
        at = NOON + timedelta(minutes=minute)
        found = allowance(accepted, quota, at)
        if found.left:
            accepted.append(at)
            continue
        assert found.next_at is not None
        assert allowance(accepted, quota, found.next_at).left > 0
        assert allowance(accepted, quota, found.next_at - timedelta(microseconds=1)).left == 0
    for first in accepted:
        assert sum(first <= at < first + WINDOW for at in accepted) <= quota


def test_refusals_are_refunded_up_to_a_limit_in_24_hours() -> None:
    assert refunds_refusal([], NOON)
    assert refunds_refusal(hours_ago(*range(1, REFUNDED_REFUSALS)), NOON)
    assert not refunds_refusal(hours_ago(*range(1, REFUNDED_REFUSALS + 1)), NOON)
    assert refunds_refusal(hours_ago(24, *range(1, REFUNDED_REFUSALS)), NOON)


def test_platform_errors_are_refunded_up_to_a_limit_in_24_hours() -> None:
    assert refunds_fault([], NOON)
    assert refunds_fault(hours_ago(*range(1, REFUNDED_FAULTS)), NOON)
    assert not refunds_fault(hours_ago(*range(1, REFUNDED_FAULTS + 1)), NOON)
    assert refunds_fault(hours_ago(24, *range(1, REFUNDED_FAULTS)), NOON)
