"""Attacks on the same images of one model: who is nearest, by how much, and how near to the best known distances."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.formats.query.scoring.attack_comparison import best_known, compare_attacks

IMAGES = 60


@pytest.fixture
def distances() -> dict[str, np.ndarray]:
    """Two numbers of queries; images differ far more than attacks do, and `near` is 10 % nearer than `far`."""
    hardness = np.exp(np.random.default_rng(1).normal(0, 1, IMAGES))
    near = np.stack([4 * hardness, hardness], axis=1)
    far = np.stack([3 * hardness, 1.1 * hardness], axis=1)
    far[0, 1] = 0.9 * near[0, 1]
    return {"far": far, "near": near}


def all_found(distances: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Each attack found an adversarial of each image."""
    return {name: np.ones(len(rows), np.bool_) for name, rows in distances.items()}


def test_attacks_are_ordered_by_their_last_median(distances: dict[str, np.ndarray]) -> None:
    best, other = compare_attacks(distances, all_found(distances), within=[1.0])
    assert (best.name, other.name) == ("near", "far")
    for row in (best, other):
        for median, column in zip(row.medians, distances[row.name].T, strict=True):
            assert median.value == np.median(column)
            assert median.low < median.value < median.high
        assert row.within == (int((distances[row.name][:, 1] <= 1).sum()),)


def test_a_paired_ratio_separates_what_intervals_of_medians_do_not(distances: dict[str, np.ndarray]) -> None:
    best, other = compare_attacks(distances, all_found(distances), within=[])
    assert best.ratio is None
    assert other.medians[-1].low < best.medians[-1].high, "the intervals overlap"
    assert other.ratio is not None
    ratios = distances["far"][:, 1] / distances["near"][:, 1]
    assert other.ratio.value == pytest.approx(np.exp(np.log(ratios).mean()))
    assert 1 < other.ratio.low < other.ratio.value < other.ratio.high
    assert (best.nearer, other.nearer) == (0, 1)


def test_optimality_is_the_ratio_to_the_best_known_distance(distances: dict[str, np.ndarray]) -> None:
    best, other = compare_attacks(distances, all_found(distances), within=[])
    assert [best.optimality, other.optimality] == pytest.approx([1.0, 1.1])
    reference = distances["near"][:, 1] / 4
    reference[1] = np.inf  # the white-box attack found nothing here
    best, other = compare_attacks(distances, all_found(distances), within=[], reference=reference)
    assert [best.optimality, other.optimality] == pytest.approx([4.0, 4.4])
    known = best_known(distances, reference)
    assert known[0] == reference[0]
    assert known[1] == distances["near"][1, 1]


def test_it_rejects_a_comparison_without_images() -> None:
    with pytest.raises(ValueError, match="at least one"):
        compare_attacks({"one": np.empty((0, 2))}, {"one": np.empty(0, np.bool_)}, within=[])


def test_the_worst_case_of_an_image_without_an_adversarial_is_no_success() -> None:
    closest = {"one": np.array([[3.0], [12.0], [12.5]]), "none": np.array([[11.0], [12.0], [12.5]])}
    found = {"one": np.array([True, False, False]), "none": np.zeros(3, np.bool_)}
    one, none = compare_attacks(closest, found, within=[2.0, 10.0, 30.0])
    assert (one.within, none.within) == ((0, 1, 1), (0, 0, 0))


def test_an_adversarial_at_the_distance_0_leaves_the_optimality_a_number() -> None:
    closest = {"lucky": np.array([[0.0], [2.0], [2.0]]), "other": np.array([[1.0], [4.0], [6.0]])}
    lucky, other = compare_attacks(closest, all_found(closest), within=[])
    assert (lucky.optimality, other.optimality) == (1.0, 3.0)
