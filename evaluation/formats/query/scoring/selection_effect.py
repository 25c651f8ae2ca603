"""Expected gain by luck of the best of many submissions on one fixed sample set.

Submissions of the same true strength get different scores on the same samples, since each draws its own errors, and the
paths of the attacks against it. The logarithm of the score is close to normal, with a deviation that falls with the
square root of the samples. `python -m bench.luck` simulates both; the deviations below are its results.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from evaluation.domain.players import Side

DEVIATIONS = {Side.MODEL: 0.050, Side.ATTACK: 0.028}
"""Deviation of the log score of a submission that is repeated with the same strength, on `SAMPLES` samples."""

SAMPLES = 200


def expected_largest(count: int) -> float:
    """Return the mean of the largest of `count` standard normals, after Blom (1958); within 0.03 of it, 0 for one."""
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def gain_by_luck(side: Side, submissions: int, samples: int) -> float:
    """Return the share by which the best of `submissions` equally strong submissions is expected to look too good.

    0.1 is a model's score 10 % too large, or an attack's 10 % too small. Raise `ValueError` below one of either.
    """
    if submissions < 1 or samples < 1:
        raise ValueError(f"{submissions} submissions on {samples} samples")
    gain = DEVIATIONS[side] * math.sqrt(SAMPLES / samples) * expected_largest(submissions)
    return math.expm1(gain) if side is Side.MODEL else -math.expm1(-gain)
