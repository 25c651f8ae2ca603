"""The same as `numpy_distances`, with the compiled `distances.c` where it was built (`distances_build_hook.py`)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import Images

LIBRARY = Path(__file__).with_name("_distances.so")

_POINTER = ctypes.c_void_p
_SIZE = ctypes.c_size_t


def load(library: Path = LIBRARY) -> ctypes.CDLL | None:
    """Return the compiled library; None where it was not built, or not for this machine and this version."""
    try:
        loaded = ctypes.CDLL(str(library))
        loaded.squared_distances.argtypes = [_POINTER, _POINTER, _SIZE, _SIZE, _POINTER, _POINTER]
        loaded.squared_distances.restype = None
        loaded.distance_bounds.argtypes = [_POINTER, _POINTER, _SIZE, _SIZE, _SIZE, _POINTER, _POINTER]
        loaded.distance_bounds.restype = None
    except (OSError, AttributeError):
        return None
    return loaded


class CompiledDistances:
    """The clean images, in the memory that the library reads."""

    def __init__(self, clean: Images, library: ctypes.CDLL) -> None:
        """Keep the images `clean`, uint8 (samples, bytes of an image)."""
        self._library = library
        self._clean = np.ascontiguousarray(clean, np.uint8)
        self._clean_pointer = self._clean.ctypes.data

    def squared(self, images: Images, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return the squared distance of each of `images` to the clean image at its place in `columns`."""
        images, count = self._checked(images), len(columns)
        if len(images) != count:
            raise ValueError(f"{len(images)} images cannot be compared with {count} clean images")
        places, result = np.array(columns, np.int64), np.empty(count)
        self._library.squared_distances(
            images.ctypes.data, self._clean_pointer, images.shape[1], count, places.ctypes.data, result.ctypes.data
        )
        return result

    def bounds(self, images: Images, limits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each of `images` a lower bound of its squared distance to each clean image: (images, samples).

        It is exact where it is below its place in `limits`.
        """
        images, shape = self._checked(images), (len(images), len(self._clean))
        if limits.shape != shape:
            raise ValueError(f"limits of shape {limits.shape} do not fit {shape[0]} images and {shape[1]} samples")
        limits, result = np.ascontiguousarray(limits, np.float64), np.empty(shape)
        self._library.distance_bounds(
            images.ctypes.data, self._clean_pointer, images.shape[1], *shape, limits.ctypes.data, result.ctypes.data
        )
        return result

    def _checked(self, images: Images) -> Images:
        if images.shape != (len(images), self._clean.shape[1]) or images.dtype != np.uint8:
            raise ValueError(f"images of shape {images.shape} and type {images.dtype} cannot be compared")
        return np.ascontiguousarray(images)
