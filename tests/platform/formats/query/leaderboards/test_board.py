"""Places on a leaderboard, from scored rows alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.query.leaderboards.ranking import BasisKey, BoardPlace, ScoredEvaluation, order_before, places

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NOW: BasisKey = (3, 1, 1)
BEFORE: BasisKey = (2, 1, 1)
LONG_AGO: BasisKey = (1, 1, 1)


def scored(
    entry: int,
    submission: int,
    value: float,
    *,
    hours: float = 0,
    evaluation: int | None = None,
    basis: BasisKey = NOW,
) -> ScoredEvaluation:
    """A row of `entry` that was scored `hours` after noon."""
    return ScoredEvaluation(entry, submission, evaluation or submission, NOON + timedelta(hours=hours), value, basis)


def ranked(rows: list[ScoredEvaluation], kind: str = "model") -> dict[int, int | None]:
    return {entry: place.rank for entry, place in places(rows, kind, NOW).items()}


def test_the_largest_score_of_a_model_has_the_first_place() -> None:
    rows = [scored(1, 10, 0.5), scored(2, 11, 1.5), scored(3, 12, 1.0)]
    assert places(rows, "model", NOW) == {
        1: BoardPlace(1, 10, place=3, rank=3, previous_rank=None),
        2: BoardPlace(2, 11, place=1, rank=1, previous_rank=None),
        3: BoardPlace(3, 12, place=2, rank=2, previous_rank=None),
    }


@pytest.mark.parametrize(("kind", "first"), [("model", 2), ("untargeted", 1), ("targeted", 1)])
def test_large_is_good_for_models_and_small_for_attacks(kind: str, first: int) -> None:
    assert ranked([scored(1, 10, 0.5), scored(2, 11, 1.5)], kind)[first] == 1


def test_equal_scores_share_the_better_rank() -> None:
    rows = [scored(1, 10, 3.0), scored(2, 11, 2.0), scored(3, 12, 2.0), scored(4, 13, 1.0)]
    assert ranked(rows) == {1: 1, 2: 2, 3: 2, 4: 4}


def test_the_newest_submission_counts_even_where_it_is_worse_and_was_scored_earlier() -> None:
    rows = [scored(1, 20, 0.1, hours=1), scored(1, 10, 9.0, hours=2), scored(2, 11, 1.0)]
    assert ranked(rows) == {2: 1, 1: 2}


def test_of_a_submission_the_newest_evaluation_counts() -> None:
    rows = [scored(1, 10, 9.0, evaluation=30), scored(1, 10, 0.1, evaluation=31), scored(2, 11, 1.0)]
    assert places(rows, "model", NOW)[1] == BoardPlace(1, 31, place=2, rank=2, previous_rank=None)


def test_a_rank_change_is_measured_from_a_day_before_the_newest_score() -> None:
    day_old = [scored(1, 10, 2.0), scored(2, 11, 1.0), scored(3, 12, 3.0, hours=0.5)]
    # 24 hours before the newest score, the third was not there yet, and the first two were just scored
    board = places([*day_old, scored(2, 20, 4.0, hours=24)], "model", NOW)
    assert board == {
        1: BoardPlace(1, 10, place=3, rank=3, previous_rank=1),
        2: BoardPlace(2, 20, place=1, rank=1, previous_rank=2),
        3: BoardPlace(3, 12, place=2, rank=2, previous_rank=None),
    }


def test_only_scores_on_the_current_basis_are_ranked() -> None:
    rows = [scored(1, 10, 1.0), scored(2, 11, 9.0, basis=BEFORE), scored(3, 12, 2.0), scored(4, 13, 8.0, basis=BEFORE)]
    assert ranked(rows) == {1: 2, 2: None, 3: 1, 4: None}
    assert ranked([rows[1], rows[3]]) == {2: None, 4: None}


@pytest.mark.parametrize(("kind", "listed"), [("model", [1, 4, 2, 3]), ("untargeted", [1, 2, 4, 3])])
def test_the_others_are_listed_below_by_their_old_score_the_latest_basis_first(kind: str, listed: list[int]) -> None:
    rows = [
        scored(1, 10, 0.5),
        scored(2, 11, 2.0, basis=BEFORE),
        scored(3, 12, 9.0, basis=LONG_AGO),
        scored(4, 13, 3.0, basis=BEFORE),
    ]
    board = places(rows, kind, NOW)
    assert sorted(board, key=lambda entry: board[entry].place) == listed
    assert {board[entry].place for entry in listed} == {1, 2, 3, 4}


def test_a_rank_change_is_only_shown_between_ranks_on_the_same_basis() -> None:
    day_old = [scored(1, 10, 2.0, basis=BEFORE), scored(2, 11, 1.0, basis=BEFORE), scored(3, 12, 3.0)]
    board = places([*day_old, scored(1, 10, 1.0, hours=24, evaluation=20), scored(4, 13, 5.0, hours=25)], "model", NOW)
    assert {entry: (place.rank, place.previous_rank) for entry, place in board.items()} == {
        1: (3, None),
        2: (None, None),
        3: (2, 1),
        4: (1, None),
    }


def test_the_previous_board_stays_while_new_scores_arrive() -> None:
    old = [scored(1, 10, 2.0, basis=BEFORE), scored(2, 11, 3.0, basis=BEFORE), scored(3, 12, 9.0, basis=LONG_AGO)]
    before = {2: 1, 1: 2, 3: 3}
    assert order_before(old, "model", NOW) == before
    assert order_before([*old, scored(1, 10, 0.1, evaluation=20), scored(4, 13, 1.0)], "model", NOW) == before


def test_no_rows_make_no_board() -> None:
    assert places([], "model", NOW) == {}


def test_it_rejects_an_unknown_track() -> None:
    with pytest.raises(ValueError, match="transfer"):
        places([scored(1, 10, 0.5)], "transfer", NOW)


many_rows = st.lists(
    st.builds(
        scored,
        st.integers(1, 6),
        st.integers(1, 12),
        st.sampled_from([0.0, 0.5, 1.0, 2.0]),
        hours=st.integers(0, 72),
        evaluation=st.integers(1, 1000),
        basis=st.sampled_from([NOW, BEFORE, LONG_AGO]),
    ),
    max_size=25,
    unique_by=lambda row: row.evaluation,
)


@given(rows=many_rows, kind=st.sampled_from(["model", "untargeted"]), random=st.randoms(use_true_random=False))
def test_the_order_of_arrival_never_matters(rows: list[ScoredEvaluation], kind: str, random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert places(shuffled, kind, NOW) == places(rows, kind, NOW)


@given(rows=many_rows)
def test_every_entry_is_listed_once_below_all_better_ones(rows: list[ScoredEvaluation]) -> None:
    board = places(rows, "model", NOW)
    assert set(board) == {row.entry for row in rows}
    of = {row.evaluation: (row.basis, row.value) for row in rows}
    for place in board.values():
        better = [other for other in board.values() if of[other.evaluation] > of[place.evaluation]]
        assert place.place == len(better) + 1
        assert place.rank == (place.place if of[place.evaluation][0] == NOW else None)
