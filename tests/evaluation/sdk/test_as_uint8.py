"""Whatever an attack computes with becomes uint8, or a plain error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gauntlet import as_uint8

SHAPE = (1, 2, 3)


def pixels(*values: float, dtype: Any = np.float64) -> Any:
    return np.array(values, dtype).reshape(SHAPE)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (pixels(0, 1, 2, 3, 254, 255, dtype=np.uint8), [0, 1, 2, 3, 254, 255]),
        (pixels(0.4, 0.6, 1.4, 1.6, 254.4, 254.6), [0, 1, 1, 2, 254, 255]),
        (pixels(0.5, 1.5, 2.5, 3.5, 253.5, 254.5), [0, 2, 2, 4, 254, 254]),  # halves go to the even neighbour
        (pixels(-0.1, -0.6, -1e30, 255.4, 255.6, 1e30), [0, 0, 0, 255, 255, 255]),
        (pixels(-1, 256, 300, -300, 7, 255, dtype=np.int64), [0, 255, 255, 0, 7, 255]),
        (pixels(0.5, 1.5, 99.7, 3, 4, 5, dtype=np.float16), [0, 2, 100, 3, 4, 5]),
        (pixels(1, 2, 3, 4, 5, 60000, dtype=np.uint16), [1, 2, 3, 4, 5, 255]),
        ([[[0, 1, 2], [3.6, 4, 5]]], [0, 1, 2, 4, 4, 5]),
    ],
)
def test_values_are_rounded_half_to_even_and_clipped_to_uint8(image: Any, expected: list[int]) -> None:
    rounded = as_uint8(image, SHAPE)
    assert rounded.dtype == np.uint8
    assert rounded.shape == SHAPE
    assert rounded.flags.c_contiguous
    assert rounded.ravel().tolist() == expected


def test_it_lays_strided_views_out_in_order() -> None:
    wide = np.arange(24, dtype=np.uint8).reshape(1, 4, 6)
    view = wide[:, ::2, ::2]
    rounded = as_uint8(view, SHAPE)
    assert rounded.flags.c_contiguous
    assert rounded.tolist() == view.tolist()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_it_rejects_what_is_not_finite(value: float) -> None:
    with pytest.raises(ValueError, match="NaN or infinity"):
        as_uint8(pixels(0, 0, 0, 0, 0, value), SHAPE)


@pytest.mark.parametrize(
    "image",
    [
        pixels(0, 1, 0, 1, 0, 1, dtype=bool),
        pixels(1, 2, 3, 4, 5, 6, dtype=complex),
        np.array(list("abcdef")).reshape(SHAPE),
        np.array([None] * 6).reshape(SHAPE),
    ],
    ids=lambda image: str(image.dtype),
)
def test_it_rejects_what_is_no_number(image: Any) -> None:
    with pytest.raises(TypeError, match="dtype"):
        as_uint8(image, SHAPE)


@pytest.mark.parametrize("shape", [(2, 1, 3), (6,), (1, 1, 2, 3), (3, 1, 2), (1, 2), ()])
def test_it_rejects_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="shape"):
        as_uint8(np.zeros(shape, np.uint8), SHAPE)
