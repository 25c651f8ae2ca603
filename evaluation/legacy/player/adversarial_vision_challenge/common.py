"""The check that every image of 2018 had to pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from adversarial_vision_challenge.logger import logger
from avc2018.session import image_shape


def check_image(image: Any) -> np.ndarray:
    """Return `image` as uint8: float32 is clipped to 0..255 and rounded half to even; NaN is 0.

    Raise AssertionError for another shape or type, float64 among them, as in 2018. The shape is that of the
    competition, where 2018 knew only (64, 64, 3).
    """
    assert isinstance(image, np.ndarray), "image should be an numpy array"
    shape = image_shape()
    assert image.shape == shape, "image should be of size {}".format("x".join(map(str, shape)))
    if image.dtype == np.float32:
        if np.isnan(image).any():
            logger.warning("NaN became 0")
            image = np.nan_to_num(image, nan=0.0, posinf=255.0, neginf=0.0)
        if image.min() < 0:
            logger.warning("clipped value smaller than 0 to 0")
        if image.max() > 255:
            logger.warning("clipped value greater than 255 to 255")
        return np.ascontiguousarray(np.clip(image, 0, 255).round().astype(np.uint8))
    assert image.dtype == np.uint8, "image should be of type float32 or uint8, but got: {}{}".format(
        image.dtype, _why(image)
    )
    return np.ascontiguousarray(image)


def _why(image: np.ndarray) -> str:
    if image.dtype == np.float64 and int(np.__version__.split(".")[0]) >= 2:
        return " (numpy 2 gives float64 for a float32 array times a float64 scalar; numpy 1.26 does not)"
    return ""
