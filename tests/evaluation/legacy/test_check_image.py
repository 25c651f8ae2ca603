"""The check that every image of 2018 had to pass, in a process without a supervisor: 64 x 64 x 3."""

from __future__ import annotations

import numpy as np
import pytest

from adversarial_vision_challenge.common import check_image

SHAPE = (64, 64, 3)


def test_a_float_image_is_rounded_half_to_even_to_uint8() -> None:
    checked = check_image(np.full(SHAPE, 2.5, np.float32))
    assert checked.dtype == np.uint8
    assert set(checked.ravel().tolist()) == {2}  # half to even


@pytest.mark.parametrize(("value", "became"), [(-3.0, 0), (300.0, 255), (3.5, 4), (np.nan, 0), (np.inf, 255)])
def test_floats_are_clipped_and_rounded(value: float, became: int) -> None:
    assert set(check_image(np.full(SHAPE, value, np.float32)).ravel().tolist()) == {became}


def test_uint8_is_unchanged() -> None:
    image = np.arange(64 * 64 * 3).reshape(SHAPE).astype(np.uint8)
    assert (check_image(image) == image).all()


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        (np.zeros(SHAPE), "got: float64"),
        (np.zeros(SHAPE, np.int64), "got: int64"),
        (np.zeros((3, 64, 64), np.uint8), "of size 64x64x3"),
        ([[0]], "should be an numpy array"),
    ],
)
def test_it_rejects_as_in_2018(image: object, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_image(image)
