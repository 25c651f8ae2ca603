"""The table of a round's transitions."""

from __future__ import annotations

from rounds.models import Round
from rounds.running.transitions import TRANSITIONS, offered

ENDS = {Round.State.PUBLISHED, Round.State.CANCELLED}


def test_every_state_is_reached_and_only_ends_are_not_left() -> None:
    reached = {Round.State.PLANNED} | {each.target for each in TRANSITIONS.values()}
    left = {state for each in TRANSITIONS.values() for state in each.sources}
    assert reached == set(Round.State)
    assert left == set(Round.State) - ENDS


def test_organisers_can_act_in_every_state_but_the_ends() -> None:
    assert {state: offered(state) for state in ENDS} == {state: [] for state in ENDS}
    assert all(offered(state)[-1] == "cancel" for state in set(Round.State) - ENDS)
