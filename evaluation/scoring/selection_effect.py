"""What luck alone gives the best of many submissions on one fixed sample set.

Submissions of the same true strength get different scores on the same samples, since each draws its errors, and the
paths of the attacks against it, anew. The logarithm of the score is close to normal, with a deviation that falls with
the square root of the samples. `python -m bench.luck` simulates both; the deviations below are its.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from evaluation.domain.players import Side

DEVIATIONS = {Side.MODEL: 0.050, Side.ATTACK: 0.028}
"""Of the logarithm of the score of a submission that was made anew at the same strength, on `SAMPLES` samples."""

SAMPLES = 200


def expected_largest(count: int) -> float:
    """The mean of the largest of `count` standard normal numbers, after Blom (1958); within 0.03 of it, 0 for one."""
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def gain_by_luck(side: Side, submissions: int, samples: int) -> float:
    """By which share the best of so many equally strong submissions is expected to look better than they are.

    0.1 is a model's score 10 % too large, or an attack's 10 % too small. Raises `ValueError` below one of either.
    """
    if submissions < 1 or samples < 1:
        raise ValueError(f"{submissions} submissions on {samples} samples")
    gain = DEVIATIONS[side] * math.sqrt(SAMPLES / samples) * expected_largest(submissions)
    return math.expm1(gain) if side is Side.MODEL else -math.expm1(-gain)
