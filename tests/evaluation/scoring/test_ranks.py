"""Rank intervals: what results on the same samples say about the order of two players."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.players import Side
from evaluation.formats.query.scoring.scores_v1 import attack_score, interval, model_score, resampled_medians
from evaluation.scoring import rank_intervals as module
from evaluation.scoring.distances import Distances
from evaluation.scoring.rank_intervals import RankInterval, Ranks, rank_intervals, sidak, student


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


def test_players_that_are_not_separated_share_a_rank_interval() -> None:
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


def noisy(*values: float) -> tuple[dict[str, float], dict[str, Distances]]:
    """Return scores whose resamples are independent and normal: the difference of two has a deviation of 1."""
    random = np.random.default_rng(11)
    scores = {str(number): value for number, value in enumerate(values)}
    return scores, {name: value + random.normal(0, 0.5**0.5, 2000) for name, value in scores.items()}


@pytest.mark.parametrize("side", Side)
def test_the_best_of_several_needs_a_larger_difference(side: Side) -> None:
    scores, resampled = noisy(*((2.5, 0.0) if side is Side.MODEL else (0.0, 2.5)))
    assert rank_intervals(scores, resampled, side).separated("0", "1")
    assert rank_intervals(scores, resampled, side, best_of={"0": 2}).separated("0", "1")
    selected = rank_intervals(scores, resampled, side, best_of={"0": 20})
    assert not selected.separated("0", "1")
    assert selected.intervals == {"0": RankInterval(1, 2), "1": RankInterval(1, 2)}


def test_the_selection_of_the_worse_one_changes_nothing() -> None:
    scores, resampled = noisy(2.5, 0.0)
    assert rank_intervals(scores, resampled, Side.MODEL, best_of={"1": 1000}).separated("0", "1")


def test_the_only_submission_of_a_team_is_not_selected() -> None:
    players = field(5, [0.1 * number for number in range(8)])
    values = {name: model_score(rows).value for name, rows in players.items()}
    resampled = {name: model_score(rows).resampled for name, rows in players.items()}
    plain = rank_intervals(values, resampled, Side.MODEL)
    assert rank_intervals(values, resampled, Side.MODEL, best_of=dict.fromkeys(values, 1)) == plain
    some = rank_intervals(values, resampled, Side.MODEL, best_of=dict.fromkeys(values, 150))
    assert all(some.intervals[name].low <= each.low for name, each in plain.intervals.items())
    assert some.intervals != plain.intervals


@pytest.mark.parametrize(("count", "needed"), [(1, 1.96), (2, 2.237), (5, 2.569), (20, 3.016), (150, 3.581)])
def test_the_quantile_of_the_best_of_several_is_that_of_sidak(count: int, needed: float) -> None:
    assert sidak(1.96, count) == pytest.approx(needed, abs=1e-3)


def test_the_largest_of_independent_numbers_exceeds_it_as_often() -> None:
    drawn = np.abs(np.random.default_rng(3).standard_normal((20_000, 20))).max(axis=1)
    assert (drawn > sidak(1.96, 20)).mean() == pytest.approx(0.05, abs=0.006)


def test_no_quantile_is_too_small_or_too_large_to_correct() -> None:
    assert sidak(0.0, 150) == 0
    assert 8 < sidak(8.0, 150) < 9
    assert sidak(60.0, 150) == 60


@pytest.mark.parametrize(("share", "needed", "error"), [(0.975, 2.042272, 1e-5), (0.9995, 3.645959, 2e-4)])
def test_the_quantile_of_few_samples_is_that_of_student(share: float, needed: float, error: float) -> None:
    assert student(NormalDist().inv_cdf(share), 30) == pytest.approx(needed, abs=error)


def test_the_best_of_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="the best of 0"):
        sidak(1.96, 0)
