"""Which sample a query belongs to: programs of 2018 never said."""

from __future__ import annotations

from typing import List, Sequence

import numpy as np

CLEARLY_NEARER = 0.5
"""A sample that the loop took earlier gets the query only below this share of the distance to the last one taken."""


class SampleChoice:
    """Follows the loop of one process over the samples.

    The query belongs to the sample that the loop took last. If it took several since the last query, it belongs to an
    earlier one of them where the image is clearly nearer to that one. If no loop is under way, because the program
    copied or sorted the list first, it belongs to the sample with the nearest clean image.
    """

    def __init__(self) -> None:
        self._taken: List[int] = []
        self._asked = False

    def take(self, number: int) -> None:
        """Note that the loop took this sample."""
        if self._asked:
            self._taken, self._asked = [], False
        if number in self._taken:
            self._taken.remove(number)
        self._taken.append(number)

    def forget(self) -> None:
        """Note that a loop begins, or came to its end."""
        self._taken, self._asked = [], False

    def sample_of(self, image: np.ndarray, clean: Sequence[np.ndarray]) -> int:
        """Return the sample of a queried image, and note the query; `clean` are the images of all samples."""
        self._asked = True
        if len(self._taken) == 1:
            return self._taken[0]
        candidates = self._taken or range(len(clean))
        distances = {number: _distance(image, clean[number]) for number in candidates}
        nearest = min(candidates, key=lambda number: distances[number])
        if not self._taken or distances[nearest] < CLEARLY_NEARER * distances[self._taken[-1]]:
            return nearest
        return self._taken[-1]


def _distance(image: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(image.astype(np.float64).ravel() - other.astype(np.float64).ravel()))
