"""Images as the rules want them: uint8."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np


def as_uint8(image: Any, shape: Tuple[int, int, int]) -> np.ndarray:
    """`image` as a contiguous uint8 array of `shape`. Floats are in 0 to 255; they are rounded, then clipped.

    Raises TypeError for anything but numbers, ValueError for another shape, for NaN and for infinity.
    """
    array = np.asarray(image)
    if array.shape != tuple(shape):
        raise ValueError("the image has shape {}; this competition's images have {}".format(array.shape, tuple(shape)))
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    if array.dtype.kind not in "fiu":
        raise TypeError("the image has dtype {}; give uint8, or numbers from 0 to 255".format(array.dtype))
    if not np.isfinite(array).all():
        raise ValueError("the image holds NaN or infinity")
    return np.ascontiguousarray(np.clip(np.rint(array), 0, 255).astype(np.uint8))
