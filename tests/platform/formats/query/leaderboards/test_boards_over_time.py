"""The score and rank of a team over time equal those of the whole leaderboard, replayed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from competitions.models import Entry, Track
from formats.query.leaderboards.boards_over_time import PERIODS, BasisChange, TrackHistory, moments, standings_over_time
from formats.query.leaderboards.ranking import BasisKey, BoardPlace, Choice, ScoredEvaluation, places
from formats.query.tracks import MODEL, TARGETED

START = datetime(2026, 11, 1, tzinfo=UTC)
BASES: Sequence[BasisKey] = ((1, 1, 1), (2, 1, 1), (2, 1, 2))


def moment(hours: int) -> datetime:
    return START + timedelta(hours=hours)


scores = st.lists(
    st.tuples(
        st.integers(1, 4),  # entry
        st.integers(1, 6),  # number of the submission, in its entry
        st.integers(0, 12),  # hours
        st.sampled_from([0.5, 1.0, 1.5, 2.0]),
        st.sampled_from(BASES),
    ),
    max_size=24,
)
choices = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 4), st.none() | st.integers(1, 6)),  # hours, entry, number
    max_size=6,
)
bases = st.lists(st.tuples(st.integers(0, 12), st.sampled_from([None, *BASES])), max_size=4)


def rows_of(drawn: Sequence[tuple[int, int, int, float, BasisKey]]) -> list[ScoredEvaluation]:
    return [
        ScoredEvaluation(entry, 10 * number + entry, evaluation, moment(hours), value, basis)
        for evaluation, (entry, number, hours, value, basis) in enumerate(drawn, start=1)
    ]


def slowly(
    rows: Sequence[ScoredEvaluation], changes: Sequence[BasisChange], made: Sequence[Choice], track_name: str
) -> list[tuple[datetime, dict[int, BoardPlace]]]:
    """The whole leaderboard at every moment, computed from all scores that were known then."""
    times = sorted({*(row.scored_at for row in rows), *(change.at for change in changes), *(each.at for each in made)})
    found = []
    for at in times:
        key = next((change.key for change in reversed(changes) if change.at <= at), None)
        known = [row for row in rows if row.scored_at <= at]
        found.append((at, places(known, track_name, key, [each for each in made if each.at <= at])))
    return found


def test_score_and_rank_change_with_each_result_and_a_new_basis_ends_the_rank() -> None:
    rows = rows_of([(1, 1, 0, 1.0, BASES[0]), (2, 1, 1, 2.0, BASES[0]), (1, 2, 2, 2.0, BASES[0])])
    changes = [BasisChange(START, BASES[0], "pool 1"), BasisChange(moment(3), BASES[1], "pool 2")]
    found = list(standings_over_time(moments(rows, changes), MODEL, 1))
    assert found == [(moment(0), 1, 1), (moment(1), 1, 2), (moment(2), 3, 1), (moment(3), 3, None)]


@settings(max_examples=100, deadline=None)
@given(drawn=scores, new=bases, chosen=choices, track_name=st.sampled_from([MODEL, TARGETED]))
def test_ranks_are_those_of_the_whole_leaderboard_at_every_moment(
    drawn: Sequence[tuple[int, int, int, float, BasisKey]],
    new: Sequence[tuple[int, BasisKey | None]],
    chosen: Sequence[tuple[int, int, int | None]],
    track_name: str,
) -> None:
    rows = rows_of(drawn)
    changes = [BasisChange(moment(hours), key, "a basis") for hours, key in sorted(new, key=lambda each: each[0])]
    made = [
        Choice(moment(hours), entry, number and 10 * number + entry)
        for hours, entry, number in sorted(chosen, key=lambda each: each[0])
    ]
    boards = slowly(rows, changes, made, track_name)
    for entry in range(1, 5):
        seen = [(at, board[entry].evaluation, board[entry].rank) for at, board in boards if entry in board]
        expected = [now for number, now in enumerate(seen) if not number or seen[number - 1][1:] != now[1:]]
        assert list(standings_over_time(moments(rows, changes, made), track_name, entry)) == expected

    history = TrackHistory(Track(name=track_name), rows, changes, made)
    tops = history.at([at for at, _ in boards], 3)
    for top, (_, board) in zip(tops, boards, strict=True):
        ranked = sorted((place.rank, entry, place.evaluation) for entry, place in board.items() if place.rank)
        assert [(rank, row.entry, row.evaluation) for row, rank in top] == ranked[:3]

    changed = dict(history.best())
    best = None
    for at, board in boards:
        firsts = {place.evaluation for place in board.values() if place.rank == 1}
        if at in changed:
            assert best not in firsts or not firsts, "the best one before stays"
            best = changed[at]
        assert best in firsts if firsts else best is None


@pytest.mark.parametrize("rivals", [0, 400])
def test_ranks_within_one_period_are_the_last_of_it(rivals: int) -> None:
    rows = [ScoredEvaluation(1, 1, 1, START, 1.0, BASES[0])]
    rows += [
        ScoredEvaluation(number, number, number, START + timedelta(minutes=number), 2.0, BASES[0])
        for number in range(2, 2 + rivals)
    ]
    track = Track(name=MODEL)
    history = TrackHistory(track, rows, [BasisChange(START, BASES[0], "pool 1")])
    steps = history.of(Entry(pk=1), START + timedelta(minutes=600))
    assert len(steps) <= 2 * PERIODS
    assert steps[0] == (START, 1, 1)
    assert steps[-1][2] == 1 + rivals
