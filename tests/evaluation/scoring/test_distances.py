from __future__ import annotations

import math

import numpy as np
import pytest

from evaluation.scoring.distances import l2, l2_each, worst_case


def test_the_distance_is_the_euclidean_norm_in_units_of_255() -> None:
    first = np.zeros((1, 2, 3), np.uint8)
    second = np.array([[[3, 0, 0], [0, 0, 4]]], np.uint8)
    # sqrt(3^2 + 4^2) / 255
    assert l2(first, second) == 5 / 255
    assert l2(second, first) == 5 / 255
    assert l2(first, first) == 0


def test_black_and_white_are_as_far_apart_as_images_get() -> None:
    black, white = np.zeros((64, 64, 3), np.uint8), np.full((64, 64, 3), 255, np.uint8)
    # each of the 64 * 64 * 3 values differs by 255 / 255
    assert l2(black, white) == pytest.approx(math.sqrt(64 * 64 * 3), rel=1e-15)


def test_it_agrees_with_the_textbook() -> None:
    random = np.random.default_rng(4)
    first, second = random.integers(0, 256, (2, 5, 64, 64, 3)).astype(np.uint8)
    expected = [np.linalg.norm((a / 255 - b / 255).ravel()) for a, b in zip(first, second, strict=True)]
    assert l2_each(first, second) == pytest.approx(expected, rel=1e-12)
    assert l2_each(first, second).tolist() == [l2(a, b) for a, b in zip(first, second, strict=True)]


def test_the_worst_case_is_the_distance_to_grey() -> None:
    # 12 values, each |0 - 128|: 128 * sqrt(12) / 255
    assert worst_case(np.zeros((2, 2, 3), np.uint8)) == math.sqrt(12 * 128**2) / 255
    assert worst_case(np.full((2, 2, 3), 128, np.uint8)) == 0
    # one value at 127, one at 129, one at 128: sqrt(1 + 1 + 0) / 255
    assert worst_case(np.array([[[127, 129, 128]]], np.uint8)) == math.sqrt(2) / 255


def test_it_rejects_floats() -> None:
    image = np.zeros((2, 2, 3))
    with pytest.raises(ValueError, match="uint8"):
        l2(image, image)  # type: ignore[arg-type]


def test_it_rejects_other_shapes() -> None:
    with pytest.raises(ValueError, match="shapes"):
        l2(np.zeros((2, 2, 3), np.uint8), np.zeros((2, 2, 1), np.uint8))
