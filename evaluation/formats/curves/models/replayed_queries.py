"""The check that a model is a function of one image: what it was asked is asked again of a fresh instance.

A model with memory answers what it said of a similar image before, so that attacks do not find their way; a fresh
instance that gets the questions in another order has no such memory. The sample is drawn with a seed that teams cannot
compute. Unlike the audit of the query format, it does not keep both instances from speaking through the host's kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import Image, Images
from evaluation.formats.curves.models.sandboxed import ModelFailedError, SandboxedClassifier, as_images

KEPT = 256
"""Questions that are asked again: a share of 5 % of changed answers is found with a probability of 0.999."""


class ReplayedQueries:
    """A uniform sample of all images that a model was asked for, with its answers (Vitter 1985, algorithm R)."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._asked = 0
        self._kept: list[tuple[Image, int]] = []

    def add(self, images: Images, labels: list[int]) -> None:
        """Add images (n, height, width, channels) that were answered, each with its label."""
        for image, label in zip(images, labels, strict=True):
            self._asked += 1
            place = len(self._kept) if len(self._kept) < KEPT else int(self._random.integers(self._asked))
            if place < KEPT:
                self._kept[place : place + 1] = [(image.copy(), label)]

    def ask(self, fresh: SandboxedClassifier) -> None:
        """Ask a fresh instance in another order. Raise `ModelFailedError` if too many answers differ.

        Single images may be so near to a boundary that the size of a batch decides: one, and 1 % of the others, may.
        """
        if not self._kept:
            return
        kept = [self._kept[place] for place in self._random.permutation(len(self._kept))]
        again = fresh.labels(as_images(np.stack([image for image, _ in kept]))).numpy()
        before: NDArray[np.int64] = np.array([label for _, label in kept])
        changed = int((again != before).sum())
        if changed > 1 + len(before) // 100:
            detail = f"{changed} of {len(before)} images got another label from a fresh instance"
            raise ModelFailedError(Reason.INCONSISTENT, detail)
