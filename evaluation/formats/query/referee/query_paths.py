"""The paths of an attack: for some samples, the queries that came closer than all before.

Only for matches on public samples: a smoke test shows them to the participant.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from evaluation.domain.images import Image, ImageShape
from evaluation.domain.smoke_test_pictures import PathStep

STEPS = 24
"""The most steps of a path that are kept."""


class QueryPaths:
    """Paths of the first samples that are attacked in a match, and the labels of the clean images.

    Its size is bounded, however many queries come closer.
    """

    def __init__(self, samples: int, shape: ImageShape) -> None:
        """Follow at most `samples` samples."""
        self._most = samples
        self._shape = shape
        self._paths: dict[int, list[PathStep]] = {}
        self._asked: Counter[int] = Counter()
        self.clean_labels: dict[int, int] = {}
        """The model's labels of the clean images, by sample."""

    def follow(self, samples: Iterable[int]) -> None:
        """Follow samples that an attack gets now, while there is room for them."""
        for sample in samples:
            if len(self._paths) < self._most:
                self._paths.setdefault(sample, [])

    def count(self, sample: int) -> None:
        """Count an answered query that named a sample. Another sample may have paid: see `Budget.settle`."""
        self._asked[sample] += 1

    def add(self, sample: int, squared: float, label: int, image: Image) -> None:
        """Note that the query counted last came closer than all before; `squared`: squared distance in levels."""
        path = self._paths.get(sample)
        if path is None:
            return
        path.append(PathStep(self._asked[sample], squared**0.5 / 255.0, label, image.reshape(self._shape).copy()))
        if len(path) > STEPS:
            del path[_least(path)]

    def of(self, sample: int) -> tuple[PathStep, ...]:
        """Return the path of a sample, empty where it was not followed or nothing was found."""
        return tuple(self._paths.get(sample, ()))


def _least(path: Sequence[PathStep]) -> int:
    """Return the index of the step, neither the first nor the last, without which the path changes least."""

    def loss(index: int) -> float:
        before, after = path[index - 1].distance, path[index + 1].distance
        return math.log(before / after) if after > 0 else math.inf

    return min(range(1, len(path) - 1), key=loss)
