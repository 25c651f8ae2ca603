"""Rank intervals: what results on the same samples say about the order of two players."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.players import Side
from evaluation.formats.query.scoring.scores_v1 import attack_score, interval, model_score, resampled_medians
from evaluation.scoring import rank_intervals as module
from evaluation.scoring.distances import Distances
from evaluation.scoring.rank_intervals import RankInterval, Ranks, rank_intervals


def ranks_of(players: dict[str, Distances], side: Side = Side.MODEL) -> Ranks:
    compute = model_score if side is Side.MODEL else attack_score
    scores = {name: compute(rows) for name, rows in players.items()}
    values = {name: score.value for name, score in scores.items()}
    return rank_intervals(values, {name: score.resampled for name, score in scores.items()}, side)


def field(seed: int, shifts: list[float], *, samples: int = 200, own: float = 0.2) -> dict[str, Distances]:
    """Return players whose results share the difficulty of the samples, one attack each."""
    random = np.random.default_rng(seed)
    shared = random.normal(0, 0.6, samples)
    return {
        str(number): np.exp(1 + shift + shared + random.normal(0, own, samples))[np.newaxis]
        for number, shift in enumerate(shifts)
    }


def test_it_works() -> None:
    ranks = ranks_of(field(1, [0.5, 0.0, 0.0, -0.5]))
    assert ranks.intervals == {
        "0": RankInterval(1, 1),
        "1": RankInterval(2, 3),
        "2": RankInterval(2, 3),
        "3": RankInterval(4, 4),
    }
    assert ranks.separated("0", "3")
    assert not ranks.separated("3", "0")
    assert not ranks.separated("1", "2")


def test_the_smallest_score_is_the_best_of_attacks() -> None:
    ranks = ranks_of(field(1, [0.5, 0.0, -0.5]), Side.ATTACK)
    assert [ranks.intervals[name].low for name in "210"] == [1, 2, 3]


def test_it_separates_players_whose_own_intervals_overlap() -> None:
    """Both had the same samples, easy and hard ones."""
    players = field(3, [0.12, 0.0], own=0.05)
    intervals = [interval(resampled_medians(rows)) for rows in players.values()]
    assert intervals[0][0] < intervals[1][1]
    assert ranks_of(players).separated("0", "1")


def test_equal_players_are_seldom_separated() -> None:
    """At most one leaderboard of equals in twenty, over all its pairs."""
    claims = 0
    for seed in range(60):
        ranks = ranks_of(field(seed, [0.0] * 6, samples=60, own=0.5))
        claims += any(interval != RankInterval(1, 6) for interval in ranks.intervals.values())
    assert claims <= 6  # 3 expected at the most; 7 or more have a chance of 3 %


def test_players_with_one_difference_in_every_resample_are_separated_by_any() -> None:
    rows = np.arange(20.0)[np.newaxis]
    ranks = ranks_of({"a": rows + 1, "b": rows, "c": rows})
    assert ranks.intervals == {"a": RankInterval(1, 1), "b": RankInterval(2, 3), "c": RankInterval(2, 3)}


def test_a_player_alone_is_first() -> None:
    assert ranks_of({"a": np.ones((1, 3))}).intervals == {"a": RankInterval(1, 1)}
    assert rank_intervals({}, {}, Side.MODEL).intervals == {}


def test_it_does_not_depend_on_the_order_of_players_or_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    players = field(5, [0.1 * number for number in range(8)])
    ranks = ranks_of(players)
    monkeypatch.setattr(module, "_BLOCK_VALUES", 2000 * 3)
    other = ranks_of(dict(reversed(players.items())))
    assert other.intervals == ranks.intervals


def test_it_rejects_a_player_without_resamples() -> None:
    with pytest.raises(ValueError, match="no resamples of b"):
        rank_intervals({"a": 1.0, "b": 2.0}, {"a": np.ones(2)}, Side.MODEL)


@settings(deadline=None, max_examples=30)
@given(
    shifts=st.lists(st.sampled_from([0.0, 0.1, 0.3]), min_size=1, max_size=6),
    seed=st.integers(0, 1000),
    side=st.sampled_from(Side),
)
def test_the_rank_of_a_player_lies_within_its_interval(shifts: list[float], seed: int, side: Side) -> None:
    players = field(seed, shifts, samples=20)
    compute = model_score if side is Side.MODEL else attack_score
    values = {name: compute(rows).value for name, rows in players.items()}
    ranks = ranks_of(players, side)
    sign = -1 if side is Side.MODEL else 1
    for name, value in values.items():
        rank = 1 + sum(sign * other < sign * value for other in values.values())
        assert ranks.intervals[name].low <= rank <= ranks.intervals[name].high
