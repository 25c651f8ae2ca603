"""Squared distances between images and a list of clean images, with numpy alone; exact, and lower bounds of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import Images

_STRETCH = 256
"""Number of bytes whose squared differences sum up to less than 2^24, which single precision holds exactly."""

_BLOCK = 8
"""Number of images that are compared at once: their differences stay in the processor's cache."""

_EVERY = 4
"""A lower bound looks at one byte in so many."""

_CENTRED_STRETCH = 1024
"""The same as `_STRETCH` for products of values from -128 to 127: at most 2^24."""


class NumpyDistances:
    """The clean images, with the memory needed to compare images with them."""

    def __init__(self, clean: Images) -> None:
        """Keep the images `clean`, uint8 (samples, bytes of an image)."""
        size = clean.shape[1]
        self._clean = clean.astype(np.float32)
        self._stretches = np.zeros((_BLOCK, -(-size // _STRETCH), _STRETCH), np.float32)
        self._differences = self._stretches.reshape(_BLOCK, -1)[:, :size]
        self._part_size = -(-size // _EVERY)
        self._part_stretches = -(-self._part_size // _CENTRED_STRETCH)
        part = self._centred(clean)
        self._part_squared = _squared_norms(part)
        self._part = np.ascontiguousarray(part.transpose(1, 2, 0))

    def squared(self, images: Images, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return the squared distance of each of `images` to the clean image at its place in `columns`."""
        squared = np.empty(len(columns))
        for start in range(0, len(columns), _BLOCK):
            block = images[start : start + _BLOCK]
            count = len(block)
            np.copyto(self._differences[:count], block)
            for difference, column in zip(self._differences, columns[start : start + count], strict=False):
                np.subtract(difference, self._clean[column], out=difference)
            stretches = self._stretches[:count]
            sums = np.vecdot(stretches, stretches)  # of integers, and so exact
            np.add.reduce(sums, axis=1, dtype=np.float64, out=squared[start : start + count])
        return squared

    def bounds(self, images: Images, limits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each of `images` a lower bound of its squared distance to each clean image: (images, samples).

        It is the exact sum over every fourth byte; `limits` are not needed.
        """
        # |x - c|^2 = |x|^2 + |c|^2 - 2 x c: one product of matrices for all, in integers up to 2^24
        part = self._centred(images)
        products = np.matmul(part.transpose(1, 0, 2), self._part).sum(axis=0, dtype=np.float64)
        bounds: NDArray[np.float64] = _squared_norms(part)[:, np.newaxis] + self._part_squared - 2 * products
        return bounds

    def _centred(self, images: Images) -> NDArray[np.float32]:
        """Return every fourth byte of `images`, less 128, filled up with zeros: (n, stretches, bytes of a stretch)."""
        centred = np.zeros((len(images), self._part_stretches, _CENTRED_STRETCH), np.float32)
        part = centred.reshape(len(images), self._part_stretches * _CENTRED_STRETCH)[:, : self._part_size]
        np.copyto(part, images[:, ::_EVERY])
        np.subtract(part, np.float32(128), out=part)
        return centred


def _squared_norms(centred: NDArray[np.float32]) -> NDArray[np.float64]:
    norms: NDArray[np.float64] = np.vecdot(centred, centred).sum(axis=1, dtype=np.float64)
    return norms
