"""How many git requests are served at once."""

from __future__ import annotations

import pytest

from repositories.http.concurrency import ANYBODY, ConcurrencyLimiter, LimitReachedError, Permit


def begun(turns: ConcurrencyLimiter, turn: Permit) -> Permit:
    turns.wait(turn)
    turns.begin(turn)
    return turn


def test_it_works() -> None:
    turns = ConcurrencyLimiter(at_once=3, each=2, kept=0)
    first, _, _ = turns.take(1), turns.take(1), turns.take(2)
    with pytest.raises(LimitReachedError):
        turns.take(2)
    first()
    turns.take(2)
    with pytest.raises(LimitReachedError):
        turns.take(1)


def test_it_rejects_more_than_each_may_have() -> None:
    turns = ConcurrencyLimiter(at_once=3, each=2, kept=0)
    ended, _ = turns.take(1), turns.take(1)
    with pytest.raises(LimitReachedError, match="you have 2 clones or pushes under way"):
        turns.take(1)
    ended()
    turns.take(1)


def test_it_rejects_more_than_all_may_have() -> None:
    turns = ConcurrencyLimiter(at_once=3, each=2)
    ended, _, _ = (turns.take(user) for user in (1, 2, 3))
    with pytest.raises(LimitReachedError, match="the site is busy"):
        turns.take(4)
    ended()
    turns.take(4)


def test_the_last_turns_are_for_teams_that_hold_none() -> None:
    turns = ConcurrencyLimiter(at_once=4, each=2, kept=2)
    first, _ = begun(turns, Permit(user=1, team=10)), begun(turns, Permit(user=2, team=10))
    with pytest.raises(LimitReachedError, match="your team has a clone or push under way"):
        turns.wait(Permit(user=3, team=10))
    begun(turns, Permit(user=4, team=20))
    with pytest.raises(LimitReachedError, match="your team has"):
        turns.wait(Permit(user=4, team=20))
    begun(turns, Permit(user=5, team=30))
    turns.leave(first)
    begun(turns, Permit(user=6, team=40))


def test_whoever_is_in_no_team_stands_for_itself() -> None:
    turns = ConcurrencyLimiter(at_once=3, each=2, kept=3)
    turns.take(1)
    turns.take(2)
    with pytest.raises(LimitReachedError, match="your team has"):
        turns.take(1)


def test_strangers_are_no_team() -> None:
    turns = ConcurrencyLimiter(at_once=3, each=2, kept=3)
    turns.take(ANYBODY)
    with pytest.raises(LimitReachedError, match="others fetch what was released just now"):
        turns.take(ANYBODY)


def test_the_request_that_has_waited_longest_makes_room_and_gets_no_turn() -> None:
    turns, dropped = ConcurrencyLimiter(at_once=2, each=2), list[int]()
    waiting = [Permit(user=user, drop=lambda user=user: dropped.append(user)) for user in (1, 2, 3)]  # type: ignore[misc]
    for turn in waiting:
        turns.wait(turn)
    assert dropped == [1]
    with pytest.raises(LimitReachedError, match="others were quicker"):
        turns.begin(waiting[0])
    turns.begin(waiting[2])
    turns.take(4)
    assert dropped == [1, 2]
    with pytest.raises(LimitReachedError, match="the site is busy"):
        turns.take(5)


def test_a_user_with_requests_that_wait_drops_none_of_anybody_else() -> None:
    turns, dropped = ConcurrencyLimiter(at_once=4, each=2), list[int]()
    turns.wait(Permit(user=1, drop=lambda: dropped.append(1)))
    for _ in range(5):
        turns.wait(Permit(user=2, drop=lambda: dropped.append(2)))
    assert dropped == [2, 2, 2]


def test_it_rejects_a_request_whose_turn_went_to_its_team_while_it_waited() -> None:
    turns = ConcurrencyLimiter(at_once=3, each=2, kept=3)
    late = Permit(user=1, team=10)
    turns.wait(late)
    begun(turns, Permit(user=2, team=10))
    with pytest.raises(LimitReachedError, match="your team has"):
        turns.begin(late)
