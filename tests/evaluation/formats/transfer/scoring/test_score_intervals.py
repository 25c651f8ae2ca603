"""Intervals and rank intervals of the transfer format, against computations of their own and in simulated fields."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.formats.transfer.rules import Opponents, TransferTrack
from evaluation.formats.transfer.scoring.score_intervals import (
    LEAST_IMAGES,
    PairImages,
    interval_from_sums,
    pair_images,
    pair_sums,
    score_intervals,
    score_ranks,
    share_interval,
    with_intervals,
)
from evaluation.formats.transfer.scoring.scores import TransferStanding, opponent_weights, standings
from evaluation.scoring.bootstrap_constants import RESAMPLES
from evaluation.scoring.rank_intervals import student

ATTACK, TARGETED, DEFENCE = TransferTrack.ATTACK, TransferTrack.TARGETED_ATTACK, TransferTrack.DEFENCE


def field(
    labels: NDArray[np.int64], made: NDArray[np.bool_] | None = None, *, targeted: bool = False
) -> list[PairImages]:
    """Return pairs from labels, (attacks, defences, images); the true class is 0 and the target class 1."""
    attacks, defences, images = labels.shape
    there = np.ones((attacks, images), np.bool_) if made is None else made
    return [
        pair_images(
            f"a{attack}",
            f"d{defence}",
            targeted=targeted,
            made=list(there[attack]),
            labels=list(np.where(there[attack], labels[attack, defence], -1)),
            truth=[0] * images,
            targets=[1] * images,
        )
        for attack in range(attacks)
        for defence in range(defences)
    ]


def rows_of(
    pairs: list[PairImages], track: TransferTrack, opponents: Opponents = Opponents.COVERAGE
) -> list[TransferStanding]:
    return standings([pair.counts for pair in pairs], track, opponents=opponents, seconds={})


def scored(
    pairs: list[PairImages], track: TransferTrack, epsilons: list[int], opponents: Opponents = Opponents.COVERAGE
) -> list[TransferStanding]:
    rows = rows_of(pairs, track, opponents)
    intervals = score_intervals(pairs, rows, epsilons=epsilons, opponents=opponents)
    scores = {row.name: row.score for row in rows if row.score is not None}
    return with_intervals(rows, intervals, score_ranks(scores, intervals))


def test_the_counts_of_a_pair_are_those_of_its_images() -> None:
    pair = pair_images(
        "a", "d", targeted=True, made=[True, True, True, False], labels=[0, 1, -1, -1], truth=[0] * 4, targets=[1] * 4
    )
    counts = pair.counts
    assert (counts.images, counts.made, counts.labelled, counts.correct, counts.hits) == (4, 3, 2, 1, 1)
    assert pair.points(defending=False).tolist() == [False, True, False, False]
    assert pair.possible(defending=False).tolist() == [True, True, False, True]
    assert pair.possible(defending=True).tolist() == [True, True, True, False]
    untargeted = pair_images("a", "d", targeted=False, made=[True], labels=[0], truth=[0], targets=[None])
    assert untargeted.counts.fooled == untargeted.counts.hits == 0


def test_labels_of_another_number_of_images_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a against d: 1 labels for 2 of 2 images"):
        pair_images("a", "d", targeted=False, made=[True, True], labels=[0], truth=[0, 0], targets=[None, None])


@pytest.mark.parametrize("track", [ATTACK, DEFENCE])
@pytest.mark.parametrize("omitted", range(1, 20))
def test_a_perfect_score_against_opponents_that_omitted_images_has_an_interval(
    track: TransferTrack, omitted: int
) -> None:
    """Weights such as 0.95 are rounded in the sums, which change no score in any draw."""
    labels = np.full((2, 2, 20), 0 if track is DEFENCE else 2)
    made = np.ones((2, 20), np.bool_)
    if track is DEFENCE:
        made[0, :omitted] = False
    else:
        labels[:, 0, :omitted] = -1
    pairs = field(labels, made)
    rows = rows_of(pairs, track)
    assert [row.score for row in rows] == [1.0, 1.0]
    for interval in score_intervals(pairs, rows, epsilons=[8] * 20, opponents=Opponents.COVERAGE).values():
        assert (interval.low, interval.high) == share_interval(1.0, 20)
        assert set(interval.resampled.tolist()) == {1.0}


@pytest.mark.parametrize("track", [ATTACK, TARGETED, DEFENCE])
@pytest.mark.parametrize("opponents", Opponents)
def test_resampled_scores_are_those_of_drawn_images(track: TransferTrack, opponents: Opponents) -> None:
    random = np.random.default_rng(3)
    epsilons = [4] * 12 + [16] * 8
    labels = random.integers(-1 if opponents is Opponents.COVERAGE else 0, 3, (3, 4, 20))
    made = random.random((3, 20)) < 0.9
    made[0] = True
    pairs = field(labels, made, targeted=track is TARGETED)
    rows = rows_of(pairs, track, opponents)
    intervals = score_intervals(pairs, rows, epsilons=epsilons, opponents=opponents)

    # the same draws, counted image by image
    stream = np.random.RandomState(0)
    first, second = stream.randint(0, 12, (RESAMPLES, 12)), stream.randint(0, 8, (RESAMPLES, 8)) + 12
    drawn = np.concatenate([first, second], axis=1)
    given = np.where(made[:, np.newaxis], labels, -1)
    made_of = made.mean(axis=1)
    labelled_of = (given != -1).sum(axis=(0, 2)) / made.sum()
    weights = made_of if track is DEFENCE else labelled_of
    if opponents is Opponents.COMPLETE:
        weights = (weights == 1).astype(float)
    for number in range(4 if track is DEFENCE else 3):
        mine = given[:, number] if track is DEFENCE else given[number]
        points = mine == {DEFENCE: 0, TARGETED: 1}.get(track, -2) if track is not ATTACK else mine > 0
        possible = made if track is DEFENCE else (mine != -1) | ~made[number]
        row = next(row for row in rows if row.name == f"{'d' if track is DEFENCE else 'a'}{number}")
        of_all = (weights * points.sum(axis=1) / possible.sum(axis=1)).sum() / weights.sum()
        assert row.score == pytest.approx(of_all)
        assert row.score is not None
        again = (weights[:, np.newaxis] * points[:, drawn].sum(axis=2) / possible[:, drawn].sum(axis=2)).sum(axis=0)
        spread = (20 / 18) ** 0.5  # two strata
        expected = row.score + (again / weights.sum() - row.score) * spread
        assert intervals[row.name].resampled == pytest.approx(expected)
        assert intervals[row.name].low < row.score < intervals[row.name].high


def test_opponents_that_do_not_count_change_nothing() -> None:
    labels = np.random.default_rng(1).integers(0, 2, (2, 3, 30))
    whole = scored(field(labels[:1]), DEFENCE, [8] * 30, Opponents.COMPLETE)
    made = np.ones((2, 30), np.bool_)
    made[1, 0] = False
    assert [(row.low, row.high) for row in scored(field(labels, made), DEFENCE, [8] * 30, Opponents.COMPLETE)] == [
        (row.low, row.high) for row in whole
    ]


def test_the_interval_of_a_single_share_is_close_to_wilsons() -> None:
    labels = np.zeros((1, 1, 100), np.int64)
    labels[..., :25] = 2
    (row,) = scored(field(labels), DEFENCE, [8] * 100)
    low, high = share_interval(0.75, 100)
    # Wilson 1927 by hand: (p + z^2 / 2n -+ z sqrt(p q / n + z^2 / 4n^2)) / (1 + z^2 / n)
    assert (low, high) == pytest.approx((0.65697, 0.82455), abs=1e-4)
    assert (row.low, row.high) == pytest.approx((low, high), abs=0.01)


def test_all_right_on_few_images_is_not_certain() -> None:
    (row,) = scored(field(np.zeros((3, 1, 16), np.int64)), DEFENCE, [8] * 16)
    assert row.score == row.high == 1
    assert row.low == pytest.approx(16 / (16 + 1.96**2), abs=1e-3)


def test_ranks_rest_on_the_differences_of_the_same_images() -> None:
    """Two defences of .80 and .90, of which the better one is right wherever the other is: not two loose intervals."""
    labels = np.zeros((1, 2, 100), np.int64)
    labels[0, 0, :10] = 2
    labels[0, 1, :20] = 2
    best, second = scored(field(labels), DEFENCE, [8] * 100)
    assert best.low is not None
    assert second.high is not None
    assert best.low < second.high
    assert (best.rank_low, best.rank_high, second.rank_low, second.rank_high) == (1, 1, 2, 2)


def test_equal_players_share_all_ranks() -> None:
    labels = np.random.default_rng(5).integers(0, 2, (1, 1, 40)).repeat(3, axis=1)
    assert {(row.rank_low, row.rank_high) for row in scored(field(labels), DEFENCE, [8] * 40)} == {(1, 3)}


def test_too_few_images_have_no_interval() -> None:
    few = LEAST_IMAGES - 1
    rows = scored(field(np.zeros((1, 2, few), np.int64)), DEFENCE, [8] * few)
    assert {(row.low, row.high, row.rank_low, row.rank_high) for row in rows} == {(None, None, None, None)}


def test_a_player_without_a_score_has_no_interval() -> None:
    labels = np.zeros((1, 2, 20), np.int64)
    made = np.ones((1, 20), np.bool_)
    made[0, 0] = False
    rows = scored(field(labels, made), DEFENCE, [8] * 20, Opponents.COMPLETE)
    assert {(row.score, row.low, row.rank_low) for row in rows} == {(None, None, None)}
    assert score_ranks({}, {}) == {}


def test_a_single_image_of_an_epsilon_varies_too() -> None:
    """Drawn alone it would be in every resample once, and seem certain."""
    labels = np.zeros((1, 1, 21), np.int64)
    labels[..., 20] = 2
    pairs = field(labels)
    rows = rows_of(pairs, DEFENCE)
    found = score_intervals(pairs, rows, epsilons=[4] * 20 + [16], opponents=Opponents.COVERAGE)["d0"]
    assert found.freedom == 20
    assert np.unique(found.resampled).size > 3


@pytest.mark.parametrize(
    ("normal", "freedom", "t"), [(1.959964, 14, 2.1448), (2.807034, 20, 3.1534), (2.9, 1000, 2.907)]
)
def test_quantiles_are_those_of_students_t(normal: float, freedom: int, t: float) -> None:
    assert student(normal, freedom) == pytest.approx(t, abs=2e-3)


def test_intervals_cover_the_truth_and_equals_are_seldom_separated() -> None:
    """120 boards of four equal defences on 20 images against three attacks; images are of different difficulty."""
    boards, images = 120, 20
    random = np.random.default_rng(11)
    inside = false = 0
    for _ in range(boards):
        chance = random.beta(2, 1, images)
        labels = (random.random((3, 4, images)) > chance).astype(np.int64)
        rows = scored(field(labels), DEFENCE, [8, 16] * (images // 2))
        inside += sum(row.low is not None and row.high is not None and row.low <= 2 / 3 <= row.high for row in rows)
        false += any((row.rank_low, row.rank_high) != (1, 4) for row in rows)
    assert 0.92 <= inside / (4 * boards) <= 0.99
    # 5 % and four standard errors
    assert false / boards <= 0.05 + 4 * (0.05 * 0.95 / boards) ** 0.5


@pytest.mark.parametrize("track", [ATTACK, TARGETED, DEFENCE])
@pytest.mark.parametrize("opponents", list(Opponents))
@pytest.mark.parametrize("omitted", [0.0, 0.2])
def test_intervals_from_sums_are_those_from_images(track: TransferTrack, opponents: Opponents, omitted: float) -> None:
    random = np.random.default_rng(3)
    labels = random.integers(0, 3, (4, 3, 40))
    labels[0, 0] = 0  # always right
    labels[random.random(labels.shape) < omitted] = -1
    made = random.random((4, 40)) >= omitted
    pairs = field(labels, made, targeted=track is TARGETED)
    epsilons = [4] * 20 + [16] * 20
    defending = track is DEFENCE
    rows = rows_of(pairs, track, opponents)
    expected = score_intervals(pairs, rows, epsilons=epsilons, opponents=opponents)
    weights = opponent_weights([pair.counts for pair in pairs], defending=defending, opponents=opponents)
    sums = pair_sums(pairs, epsilons)
    for row in rows:
        own = [number for number, pair in enumerate(pairs) if row.name == (pair.defence if defending else pair.attack)]
        union = np.any([pairs[number].possible(defending=defending) for number in own], axis=0)
        if row.score is None:
            assert row.name not in expected
            continue
        found = interval_from_sums(
            row.score,
            [sums[number] for number in own],
            [weights[pairs[number].attack if defending else pairs[number].defence] for number in own],
            epsilons=epsilons,
            defending=defending,
            images=lambda union=union: int(union.sum()),  # type: ignore[misc]
        )
        assert found == expected[row.name]
        assert np.array_equal(found.resampled, expected[row.name].resampled)


def test_a_label_of_an_image_that_was_not_made_is_refused() -> None:
    pair = pair_images("a", "d", targeted=False, made=[True, False], labels=[0, 0], truth=[0, 0], targets=[None, None])
    with pytest.raises(ValueError, match="d labelled images that a did not make"):
        pair_sums([pair], [4, 4])
