"""Exact squared distances between images and the clean images of a piece, and lower bounds of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import Images, ImageShape
from evaluation.domain.samples import Sample
from evaluation.formats.query.referee.compiled_distances import CompiledDistances, load
from evaluation.formats.query.referee.numpy_distances import NumpyDistances

_LIBRARY = load()


class PixelDifferences:
    """The clean images of a piece, by the numbers of their samples."""

    def __init__(self, samples: Sequence[Sample], shape: ImageShape) -> None:
        self.columns = {sample.number: column for column, sample in enumerate(samples)}
        self.clean: Images = np.array([s.image for s in samples], np.uint8).reshape(len(samples), shape.size)
        self._distances = CompiledDistances(self.clean, _LIBRARY) if _LIBRARY else NumpyDistances(self.clean)

    def squared(self, numbers: Sequence[int], images: Images) -> NDArray[np.float64]:
        """Return the squared L2 distances of `images` to clean images, in (1/255)^2: float64 (n,).

        `images` is uint8 (n, bytes of an image), each compared with the sample at its place in `numbers`. The results
        are exact: all sums are of integers.
        """
        columns = self.columns
        return self._distances.squared(images, [columns[number] for number in numbers])

    def bounds(self, images: Images, limits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each of `images` a lower bound of its squared distance to each clean image: (images, samples).

        `limits` has the same shape: bounds of this size and more need not be exact.
        """
        return self._distances.bounds(images, limits)
