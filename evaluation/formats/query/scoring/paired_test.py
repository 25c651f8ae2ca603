"""Paired test of two scores on the same samples: does their difference exceed chance in the choice of the samples?

Overlap of two intervals does not answer this, since both scores depend on the same samples. Here the difference is
resampled, with the resamples behind the intervals of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.domain.players import Side
from evaluation.formats.query.scoring.scores_v1 import interval, resampled_medians
from evaluation.scoring.distances import Distances


@dataclass(frozen=True)
class ScoreDifference:
    """The newer score minus the older one; `low` and `high` bound its 95 % interval over samples."""

    value: float
    low: float
    high: float

    @property
    def separated(self) -> bool:
        """True if the interval excludes 0: the difference is significant at the 5 % level."""
        return self.low > 0 or self.high < 0


def paired_difference(newer: Distances, older: Distances, side: Side, seed: int = 0) -> ScoreDifference:
    """Test the scores of two players of one side that met the same opponents on the same samples.

    Both arrays are (opponents, samples) of scored distances, as for `scores_v1`. A drawn sample brings all its
    distances of both players. Raise `ValueError` where the numbers of samples differ.
    """
    if newer.shape[1] != older.shape[1]:
        raise ValueError(f"the numbers of samples differ: {newer.shape[1]} and {older.shape[1]}")
    if side is Side.MODEL:
        newer, older = newer.min(axis=0, keepdims=True), older.min(axis=0, keepdims=True)
    resampled = resampled_medians(newer, seed) - resampled_medians(older, seed)
    low, high = interval(resampled)
    return ScoreDifference(float(np.median(newer)) - float(np.median(older)), low, high)
