"""Whether two scores on the same samples differ by more than chance in the choice of the samples.

Two intervals that overlap say little about that: both scores rise and fall with the same samples. Here the difference
is resampled, with the resamples that the intervals of the scores rest on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.domain.players import Side
from evaluation.scoring.distances import Distances
from evaluation.scoring.v1 import interval, resampled_medians


@dataclass(frozen=True)
class Difference:
    """The score of the newer less that of the older; `low` and `high` bound its 95 % interval over samples."""

    value: float
    low: float
    high: float

    @property
    def separated(self) -> bool:
        """Whether the interval excludes 0: the data tell that the two differ, at the level of 5 %."""
        return self.low > 0 or self.high < 0


def paired_difference(newer: Distances, older: Distances, side: Side, seed: int = 0) -> Difference:
    """Test the scores of two players of one side that met the same opponents on the same samples.

    Both arrays are (opponents, samples) of scored distances, as for `evaluation.scoring.v1`. Samples are drawn with all
    their distances of both players. Raises `ValueError` where the numbers of samples differ.
    """
    if newer.shape[1] != older.shape[1]:
        raise ValueError(f"{newer.shape[1]} and {older.shape[1]} samples are not the same samples")
    if side is Side.MODEL:
        newer, older = newer.min(axis=0, keepdims=True), older.min(axis=0, keepdims=True)
    resampled = resampled_medians(newer, seed) - resampled_medians(older, seed)
    low, high = interval(resampled)
    return Difference(float(np.median(newer)) - float(np.median(older)), low, high)
