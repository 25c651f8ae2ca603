"""Limits on concurrent git requests."""

from __future__ import annotations

import pytest

from repositories.http.concurrency_limits import ANYBODY, ConcurrencyLimiter, LimitReachedError, Permit


def started(limiter: ConcurrencyLimiter, permit: Permit) -> Permit:
    limiter.wait(permit)
    try:
        limiter.start(permit)
    except LimitReachedError:
        limiter.release(permit)
        raise
    return permit


def test_a_released_permit_is_free_for_another_user() -> None:
    limiter = ConcurrencyLimiter(total=3, per_user=2, reserved=0)
    first, _, _ = (started(limiter, Permit(user)) for user in (1, 1, 2))
    limiter.release(first)
    started(limiter, Permit(2))


def test_it_rejects_more_than_the_limit_per_user() -> None:
    limiter = ConcurrencyLimiter(total=3, per_user=2, reserved=0)
    ended, _ = started(limiter, Permit(1)), started(limiter, Permit(1))
    with pytest.raises(LimitReachedError, match="you have 2 clones or pushes in progress"):
        started(limiter, Permit(1))
    limiter.release(ended)
    started(limiter, Permit(1))


def test_it_rejects_more_than_the_total_limit() -> None:
    limiter = ConcurrencyLimiter(total=3, per_user=2, reserved=0)
    ended, _, _ = (started(limiter, Permit(user)) for user in (1, 2, 3))
    with pytest.raises(LimitReachedError, match="the site is busy"):
        started(limiter, Permit(4))
    limiter.release(ended)
    started(limiter, Permit(4))


def test_the_last_permits_are_reserved_for_teams_that_hold_none() -> None:
    limiter = ConcurrencyLimiter(total=4, per_user=2, reserved=2)
    first, _ = started(limiter, Permit(user=1, team=10)), started(limiter, Permit(user=2, team=10))
    with pytest.raises(LimitReachedError, match="your team has a clone or push in progress"):
        limiter.wait(Permit(user=3, team=10))
    started(limiter, Permit(user=4, team=20))
    with pytest.raises(LimitReachedError, match="your team has"):
        limiter.wait(Permit(user=4, team=20))
    started(limiter, Permit(user=5, team=30))
    limiter.release(first)
    started(limiter, Permit(user=6, team=40))


def test_a_user_without_a_team_counts_as_a_team() -> None:
    limiter = ConcurrencyLimiter(total=3, per_user=2, reserved=3)
    started(limiter, Permit(1))
    started(limiter, Permit(2))
    with pytest.raises(LimitReachedError, match="your team has"):
        started(limiter, Permit(1))


def test_anonymous_requests_count_as_one_user() -> None:
    limiter = ConcurrencyLimiter(total=3, per_user=2, reserved=3)
    started(limiter, Permit(ANYBODY))
    with pytest.raises(LimitReachedError, match="too many downloads of released files"):
        started(limiter, Permit(ANYBODY))


def test_the_oldest_waiting_request_is_dropped() -> None:
    limiter, dropped = ConcurrencyLimiter(total=2, per_user=2, reserved=0), list[int]()
    waiting = [Permit(user=user, drop=lambda user=user: dropped.append(user)) for user in (1, 2, 3)]  # type: ignore[misc]
    for permit in waiting:
        limiter.wait(permit)
    assert dropped == [1]
    with pytest.raises(LimitReachedError, match="the site is busy; try again"):
        limiter.start(waiting[0])
    limiter.start(waiting[2])
    started(limiter, Permit(4))
    assert dropped == [1, 2]
    with pytest.raises(LimitReachedError, match="the site is busy"):
        started(limiter, Permit(5))


def test_a_user_with_waiting_requests_drops_only_own_ones() -> None:
    limiter, dropped = ConcurrencyLimiter(total=4, per_user=2, reserved=0), list[int]()
    limiter.wait(Permit(user=1, drop=lambda: dropped.append(1)))
    for _ in range(5):
        limiter.wait(Permit(user=2, drop=lambda: dropped.append(2)))
    assert dropped == [2, 2, 2]


def test_it_rejects_a_request_whose_team_took_the_permit_while_it_waited() -> None:
    limiter = ConcurrencyLimiter(total=3, per_user=2, reserved=3)
    late = Permit(user=1, team=10)
    limiter.wait(late)
    started(limiter, Permit(user=2, team=10))
    with pytest.raises(LimitReachedError, match="your team has"):
        limiter.start(late)
