"""The image functions of `scipy.misc`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from legacy_compatibility.scipy_images import bytescale, imread, imresize, imsave, toimage


def test_an_image_is_read_back_as_it_was_written_and_in_grey_on_request(tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    imsave(str(tmp_path / "image.png"), image)
    assert (imread(str(tmp_path / "image.png")) == image).all()
    assert imread(str(tmp_path / "image.png"), mode="L").shape == (5, 7)


def test_floats_are_stretched_from_their_own_minimum_and_maximum(tmp_path: Path) -> None:
    assert bytescale(np.array([0.25, 0.5, 0.75])).tolist() == [0, 128, 255]
    assert bytescale(np.array([7, 8, 9])).tolist() == [0, 128, 255]
    imsave(str(tmp_path / "image.png"), np.array([[100.0, 110.0]]))
    assert imread(str(tmp_path / "image.png")).tolist() == [[0, 255]]


def test_uint8_is_never_stretched() -> None:
    assert bytescale(np.array([7, 9], np.uint8)).tolist() == [7, 9]


def test_a_constant_image_becomes_black() -> None:
    assert bytescale(np.full((2, 2), 3.0)).max() == 0


def test_given_limits_replace_the_extremes() -> None:
    assert bytescale(np.array([0.0, 1.0]), cmin=0, cmax=2).tolist() == [0, 128]
    with pytest.raises(ValueError, match="cmax"):
        bytescale(np.array([0.0, 1.0]), cmin=2, cmax=0)
    with pytest.raises(ValueError, match="between 0 and 255"):
        bytescale(np.array([0.0, 1.0]), high=300)


def test_the_size_is_percent_a_factor_or_height_and_width() -> None:
    image = np.zeros((10, 20, 3), np.uint8)
    assert imresize(image, 50).shape == (5, 10, 3)
    assert imresize(image, 0.5).shape == (5, 10, 3)
    assert imresize(image, (4, 6), interp="bicubic").shape == (4, 6, 3)


def test_channels_may_come_first() -> None:
    assert toimage(np.zeros((3, 5, 7), np.uint8)).size == (7, 5)


def test_extremes_keep_the_type_of_the_array() -> None:
    """As in scipy: a float32 image is stretched in float32, so that no rounding differs."""
    image = np.random.default_rng(0).random((64, 64, 3), np.float32)
    smallest, span = image.min(), image.max() - image.min()
    expected = (((image - smallest) * (255.0 / span)).clip(0, 255) + 0.5).astype(np.uint8)
    assert (bytescale(image) == expected).all()


def test_an_image_with_nan_is_black() -> None:
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert bytescale(np.array([0.0, np.nan, 1.0])).tolist() == [0, 0, 0]


def test_modes_of_whole_numbers_and_floats_keep_values() -> None:
    image = np.array([[0.5, 300.0], [-1.0, 2.0]])
    assert np.asarray(toimage(image, mode="F")).tolist() == image.tolist()
    assert np.asarray(toimage(image, mode="I")).tolist() == [[0, 300], [-1, 2]]
    assert imresize(image, (2, 2), mode="F").tolist() == image.tolist()
    assert toimage(np.zeros((2, 2, 3), np.uint8), mode="L").mode == "L"
