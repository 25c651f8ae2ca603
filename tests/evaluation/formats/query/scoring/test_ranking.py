from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.players import Side
from evaluation.formats.query.scoring.ranking import ranking


def test_models_are_ranked_largest_first_and_attacks_smallest_first() -> None:
    values = {"b": 2.0, "a": 1.0, "c": 3.0}
    assert ranking(values, Side.MODEL) == ((1, "c"), (2, "b"), (3, "a"))
    assert ranking(values, Side.ATTACK) == ((1, "a"), (2, "b"), (3, "c"))


def test_ties_share_the_better_rank_and_use_up_the_next() -> None:
    values = {"d": 1.0, "z": 2.0, "b": 2.0, "a": 3.0}
    assert ranking(values, Side.MODEL) == ((1, "a"), (2, "b"), (2, "z"), (4, "d"))
    assert ranking(values, Side.ATTACK) == ((1, "d"), (2, "b"), (2, "z"), (4, "a"))


def test_all_equal_are_all_first() -> None:
    assert ranking({"b": 0.0, "a": 0.0, "c": 0.0}, Side.MODEL) == ((1, "a"), (1, "b"), (1, "c"))


def test_no_players_have_no_ranks() -> None:
    assert ranking({}, Side.MODEL) == ()


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=3), st.integers(0, 4).map(float)))
def test_a_rank_is_one_more_than_how_many_are_better(values: dict[str, float]) -> None:
    for rank, name in ranking(values, Side.MODEL):
        assert rank == 1 + sum(value > values[name] for value in values.values())
    for rank, name in ranking(values, Side.ATTACK):
        assert rank == 1 + sum(value < values[name] for value in values.values())
