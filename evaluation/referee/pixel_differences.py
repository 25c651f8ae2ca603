"""Exact squared distances between images and the clean images of a piece."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation.domain.images import Image, Images, ImageShape
from evaluation.domain.samples import Sample

_STRETCH = 256
"""Number of bytes whose squared differences sum up to less than 2^24, which single precision holds exactly."""


class PixelDifferences:
    """The clean images of a piece, with the memory needed to compare images with them."""

    def __init__(self, samples: Sequence[Sample], shape: ImageShape) -> None:
        self.shape = shape
        self._clean = {sample.number: sample.image.ravel().astype(np.float32) for sample in samples}
        size = shape.size
        self._stretches = np.zeros((-(-size // _STRETCH), _STRETCH), np.float32)
        self._difference = self._stretches.reshape(-1)[:size]

    def squared(self, number: int, image: Image) -> float:
        """Return the squared L2 distance of `image` (bytes of an image,) to a sample's clean image, in (1/255)^2.

        The result is exact: all sums are of integers.
        """
        np.subtract(image, self._clean[number], out=self._difference)
        sums = np.vecdot(self._stretches, self._stretches)
        return float(sums.sum(dtype=np.float64))

    def squared_of(self, numbers: Sequence[int], images: Images) -> list[float]:
        """Return the same for `images` (n, bytes of an image), each against the sample at its place in `numbers`."""
        return [self.squared(number, image) for number, image in zip(numbers, images, strict=True)]
