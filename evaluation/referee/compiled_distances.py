"""The same as `numpy_distances`, with the compiled `distances.c` where it was built (`build_distances.py`)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import Images

LIBRARY = Path(__file__).with_name("_distances.so")

_POINTER = ctypes.c_void_p
_NO_LIMIT = np.iinfo(np.int64).max


def load(library: Path = LIBRARY) -> ctypes.CDLL | None:
    """Return the compiled library; None where it was not built, or not for this machine."""
    try:
        loaded = ctypes.CDLL(str(library))
    except OSError:
        return None
    numbers = [_POINTER] * 4
    loaded.squared_distances.argtypes = [_POINTER, _POINTER, ctypes.c_size_t, ctypes.c_size_t, *numbers]
    loaded.squared_distances.restype = None
    return loaded


class CompiledDistances:
    """The clean images, in the memory that the library reads."""

    def __init__(self, clean: Images, library: ctypes.CDLL) -> None:
        """Keep the images `clean`, uint8 (samples, bytes of an image)."""
        self._call = library.squared_distances
        self._clean = np.ascontiguousarray(clean, np.uint8)

    def squared(self, images: Images, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return the squared distance of each of `images` to the clean image at its place in `columns`."""
        second = np.array(columns, np.int64)
        return self._pairs(images, np.arange(len(columns)), second, np.full(len(columns), _NO_LIMIT))

    def bounds(self, images: Images, limits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each of `images` a lower bound of its squared distance to each clean image: (images, samples).

        It is exact where it is below its place in `limits`.
        """
        first = np.repeat(np.arange(limits.shape[0]), limits.shape[1])
        second = np.tile(np.arange(limits.shape[1]), limits.shape[0])
        return self._pairs(images, first, second, np.ceil(limits).astype(np.int64).reshape(-1)).reshape(limits.shape)

    def _pairs(
        self, images: Images, first: NDArray[np.int64], second: NDArray[np.int64], limits: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        if images.shape != (len(images), self._clean.shape[1]) or images.dtype != np.uint8:
            raise ValueError(f"images of shape {images.shape} and type {images.dtype} cannot be compared")
        images = np.ascontiguousarray(images)
        result = np.empty(len(first), np.int64)
        pointers = [array.ctypes.data for array in (first, second, limits, result)]
        self._call(images.ctypes.data, self._clean.ctypes.data, self._clean.shape[1], len(first), *pointers)
        return result.astype(np.float64)
