"""How many git requests are served at once."""

from __future__ import annotations

import pytest

from repositories.turns import Busy, Turns


def test_it_works() -> None:
    turns = Turns(at_once=3, each=2)
    first, _, _ = turns.take(1), turns.take(1), turns.take(2)
    first()
    turns.take(2)


def test_it_rejects_more_than_each_may_have() -> None:
    turns = Turns(at_once=3, each=2)
    ended, _ = turns.take(1), turns.take(1)
    with pytest.raises(Busy, match="you have 2 clones or pushes under way"):
        turns.take(1)
    ended()
    turns.take(1)


def test_it_rejects_more_than_all_may_have() -> None:
    turns = Turns(at_once=3, each=2)
    ended, _, _ = (turns.take(user) for user in (1, 2, 3))
    with pytest.raises(Busy, match="the site is busy"):
        turns.take(4)
    ended()
    turns.take(4)
