"""Adapter: scores and ranks, as the engine computes them from finished rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.errors import Fault
from evaluation.domain.players import Track
from evaluation.domain.results import Outcome
from evaluation.scoring.distances import scored_distance
from evaluation.scoring.ranking import ranking
from evaluation.scoring.v1 import attack_score, model_score

SEED = 0
"""Draws every interval, so that a score made again is the same to the last bit."""


class PlayedSample(NamedTuple):
    """What a sample result tells a score. Distances are L2 over pixels / 255."""

    sample: int
    outcome: str
    distance: float
    worst_case: float
    queries: int
    seconds: float


@dataclass(frozen=True)
class Opponent:
    """A player of the pool, and the samples played against it in their order."""

    player: int
    title: str
    samples: Sequence[PlayedSample]


def score_columns(kind: str, opponents: Sequence[Opponent], count: int) -> dict[str, Any]:
    """The score columns of an evaluation of the track `kind`; `opponents` in the pool's order.

    Raises `Fault` where an opponent lacks one of the samples 0 to `count` - 1, or a row cannot be.
    """
    for opponent in opponents:
        if [row.sample for row in opponent.samples] != list(range(count)):
            raise Fault(f"the match against {opponent.title} lacks some of its {count} samples")

    def column(read: Callable[[PlayedSample], Any]) -> NDArray[Any]:
        return np.array([[read(row) for row in opponent.samples] for opponent in opponents])

    failed = column(lambda row: row.outcome == Outcome.FAILED)
    compute = model_score if kind == Track.MODEL else attack_score
    try:
        score = compute(
            column(lambda row: scored_distance(Outcome(row.outcome), float(row.distance), float(row.worst_case))),
            failed=failed,
            seconds=column(lambda row: float(row.seconds)),
            queries=column(lambda row: row.queries),
            seed=SEED,
        )
    except ValueError as error:
        raise Fault(f"the rows of the evaluation cannot be scored: {error}") from error
    return {
        "value": score.value,
        "low": score.low,
        "high": score.high,
        "samples": score.samples,
        "failures": score.failures,
        "worst_opponent_id": opponents[score.worst_opponent].player,
        "per_opponent": [
            {"player": opponent.player, "title": opponent.title, "median": median, "failures": int(count)}
            for opponent, median, count in zip(opponents, score.per_opponent, failed.sum(axis=1), strict=True)
        ],
        "median_seconds": score.median_seconds,
        "mean_queries": score.mean_queries,
    }


def ranks(values: Mapping[int, float], kind: str) -> dict[int, int]:
    """The rank of each key of `values` on the board of the track `kind`; equal values share the better rank."""
    ranked = ranking({str(key): value for key, value in values.items()}, Track(kind).side)
    return {int(name): rank for rank, name in ranked}
