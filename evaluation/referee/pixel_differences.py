"""Squared distances between images and the clean images of a piece, exact to the last digit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation.domain.images import Image, Images, ImageShape
from evaluation.domain.samples import Sample

_STRETCH = 256
"""Squared differences of so many bytes sum up to less than 2^24, which single precision still holds exactly."""


class PixelDifferences:
    """Holds the clean images of a piece, and the memory to compare others with them."""

    def __init__(self, samples: Sequence[Sample], shape: ImageShape) -> None:
        self.shape = shape
        self._clean = {sample.number: sample.image.ravel().astype(np.float32) for sample in samples}
        size = shape.size
        self._stretches = np.zeros((-(-size // _STRETCH), _STRETCH), np.float32)
        self._difference = self._stretches.reshape(-1)[:size]

    def squared(self, number: int, image: Image) -> float:
        """Squared L2 of `image` (bytes of an image,) to the clean image of a sample, in units of (1/255)^2.

        Exact: whole numbers all the way.
        """
        np.subtract(image, self._clean[number], out=self._difference)
        sums = np.vecdot(self._stretches, self._stretches)
        return float(sums.sum(dtype=np.float64))

    def squared_of(self, numbers: Sequence[int], images: Images) -> list[float]:
        """The same for `images` (n, bytes of an image), each to the sample at its place in `numbers`."""
        return [self.squared(number, image) for number, image in zip(numbers, images, strict=True)]
