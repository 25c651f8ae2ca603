"""What the referee has itself seen of one piece: the trace, and the closest adversarials of each sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.domain.images import Image, Images
from evaluation.domain.players import Track
from evaluation.domain.results import Trace
from evaluation.domain.samples import Sample
from evaluation.protocol import frames

CANDIDATES = 3
"""How many of the closest adversarials of a sample are kept for the verdict."""


def is_adversarial(label: int, sample: Sample, track: Track) -> bool:
    """The criterion. An image without a valid label counts as adversarial (seed 000, 4.2)."""
    if label == frames.UNCLASSIFIED:
        return True
    return label == sample.target if track is Track.TARGETED else label != sample.label


@dataclass(eq=False)
class Candidate:
    """An adversarial seen in the queries. `confirmed` needs no verdict: the referee saw the model fail on it."""

    squared: float
    image: Image
    label: int
    confirmed: bool = False


class Record:
    """Grows with each answered query of a piece; bounded by the budget, not by what the players do."""

    def __init__(self, samples: Sequence[Sample], track: Track, budget: int) -> None:
        self._track = track
        self._samples = {sample.number: sample for sample in samples}
        self._clean = {sample.number: sample.image.ravel().astype(np.float64) for sample in samples}
        size = len(samples) * budget
        self._sample = np.empty(size, np.uint16)
        self._query = np.empty(size, np.uint32)
        self._label = np.empty(size, np.int16)
        self._distance = np.empty(size, np.float32)
        self._length = 0
        self.candidates: dict[int, list[Candidate]] = {sample.number: [] for sample in samples}

    def squared_distances(self, numbers: Sequence[int], images: Images) -> list[float]:
        """Squared L2 in units of (1/255)^2, exact: integers far below 2^53. `images` is (n, bytes of an image)."""
        squared = []
        for number, image in zip(numbers, images, strict=True):
            difference = image - self._clean[number]
            squared.append(float(difference @ difference))
        return squared

    def add(
        self,
        numbers: Sequence[int],
        queries: Sequence[int],
        images: Images,
        labels: Sequence[int],
        squared: Sequence[float],
        *,
        confirmed: bool = False,
    ) -> None:
        """Note answered queries. `images` may be a view that changes afterwards; what is kept is copied."""
        start, end = self._length, self._length + len(numbers)
        self._sample[start:end] = numbers
        self._query[start:end] = queries
        self._label[start:end] = labels
        self._distance[start:end] = [value**0.5 / 255.0 for value in squared]
        self._length = end
        for number, image, label, value in zip(numbers, images, labels, squared, strict=True):
            kept = self.candidates[number]
            nearer = len(kept) < CANDIDATES or value < kept[-1].squared
            if nearer and is_adversarial(label, self._samples[number], self._track):
                self._keep(kept, Candidate(value, image.copy(), label, confirmed))

    def _keep(self, kept: list[Candidate], new: Candidate) -> None:
        """Insert in order of distance; the first seen goes first among equals, and no image stands twice."""
        if any(new.squared == other.squared and np.array_equal(new.image, other.image) for other in kept):
            return
        kept.append(new)
        kept.sort(key=lambda candidate: candidate.squared)
        del kept[CANDIDATES:]

    def trace(self) -> Trace:
        """Everything noted so far, trimmed copies."""
        end = self._length
        return Trace(
            self._sample[:end].copy(),
            self._query[:end].copy(),
            self._label[:end].copy(),
            self._distance[:end].copy(),
        )
