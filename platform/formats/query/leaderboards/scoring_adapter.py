"""Adapter: scores and ranks of finished rows, computed by the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.errors import Fault
from evaluation.domain.players import TrackName
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.scoring.ranking import ranking
from evaluation.formats.query.scoring.scored_distances import scored_distance
from evaluation.formats.query.scoring.scores_v1 import attack_score, model_score
from evaluation.formats.query.tournament.failed_audit_rule import distrusted
from evaluation.scoring.rank_intervals import rank_intervals

__all__ = [
    "SEED", "PlayedSample", "PoolOpponent", "RankColumns", "RankedEvaluation", "Scores", "distrusted", "rank_columns",
    "ranks", "score_columns",
]  # fmt: skip

SEED = 0
"""Seed of every interval: a repeated computation gives the same bits."""


class PlayedSample(NamedTuple):
    """The part of a sample result that a score needs. Distances are L2 over pixels / 255."""

    sample: int
    outcome: str
    distance: float
    worst_case: float
    queries: int
    seconds: float


@dataclass(frozen=True)
class PoolOpponent:
    """A player of the pool, and the samples played against it, in order. `own`: it is a model of the scored attack's
    own team, which the score excludes."""

    player: int
    title: str
    samples: Sequence[PlayedSample]
    own: bool = False


class Scores(NamedTuple):
    """The score columns of an evaluation, and the score in each bootstrap resample: float64, little-endian."""

    columns: dict[str, Any]
    resampled: bytes


class RankedEvaluation(NamedTuple):
    """A ranked row of a board: key of its evaluation, rank, score, and score in each resample.

    `tried`: how many submissions its team could choose it from.
    """

    evaluation: int
    rank: int
    value: float
    resampled: bytes
    tried: int = 1


class RankColumns(NamedTuple):
    """The 95 % rank interval of a row among the compared rows. `separated`: from all rows of the next rank; None for
    the last rows."""

    low: int
    high: int
    separated: bool | None


def score_columns(track_name: str, opponents: Sequence[PoolOpponent], count: int) -> Scores:
    """Score the rows of an evaluation of the track `track_name`; `opponents` in the pool's order.

    A model's score counts all opponents, an attack's all except models of its own team. Raise `Fault` where an opponent
    lacks one of the samples 0 to `count` - 1, a row is impossible, or no opponent counts.
    """
    for number, opponent in enumerate(opponents, start=1):
        if [row.sample for row in opponent.samples] != list(range(count)):
            raise Fault(f"the match against opponent {number} of the pool lacks some of its {count} samples")

    def column(read: Callable[[PlayedSample], Any]) -> NDArray[Any]:
        return np.array([[read(row) for row in opponent.samples] for opponent in opponents])

    is_model = track_name == TrackName.MODEL
    counted = [place for place, opponent in enumerate(opponents) if is_model or not opponent.own]
    distances = column(lambda row: scored_distance(Outcome(row.outcome), float(row.distance), float(row.worst_case)))
    failed = column(lambda row: row.outcome == Outcome.FAILED)
    compute = model_score if is_model else attack_score
    try:
        score = compute(
            distances[counted],
            failed=failed[counted],
            seconds=column(lambda row: float(row.seconds))[counted],
            queries=column(lambda row: row.queries)[counted],
            seed=SEED,
        )
    except ValueError as error:
        raise Fault(f"the rows of the evaluation cannot be scored: {error}") from error
    columns = {
        "value": score.value,
        "low": score.low,
        "high": score.high,
        "samples": score.samples,
        "failures": score.failures,
        "met": len(counted),
        "value_all": float(np.median(distances)) if len(counted) < len(opponents) else None,
        "held": int(failed.all(axis=0).sum()) if is_model else None,
        # a misclassified clean image is so against every attack; a model that failed in one match is not
        "clean_wrong": int(column(lambda row: row.outcome == Outcome.CLEAN_WRONG).all(axis=0).sum())
        if is_model
        else None,
        "worst_opponent_id": opponents[counted[score.worst_opponent]].player,
        "per_opponent": _per_opponent(opponents, distances, failed, counted),
        "median_seconds": score.median_seconds,
        "mean_queries": score.mean_queries,
    }
    return Scores(columns, score.resampled.astype("<f8").tobytes())


def _per_opponent(
    opponents: Sequence[PoolOpponent], distances: NDArray[np.float64], failed: NDArray[np.bool_], counted: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the median against each opponent alone; `own` marks those that the score excludes."""
    medians, failures = np.median(distances, axis=1), failed.sum(axis=1)
    rows: list[dict[str, Any]] = [
        {"player": opponent.player, "median": float(median), "failures": int(count)}
        for opponent, median, count in zip(opponents, medians, failures, strict=True)
    ]
    return [row if place in counted else {**row, "own": True} for place, row in enumerate(rows)]


def ranks(values: Mapping[int, float], track_name: str) -> dict[int, int]:
    """Return the rank of each key of `values` on the board of the track `track_name`; equal values share the better."""
    ranked = ranking({str(key): value for key, value in values.items()}, TrackName(track_name).side)
    return {int(name): rank for rank, name in ranked}


def rank_columns(rows: Sequence[RankedEvaluation], track_name: str) -> dict[int, RankColumns]:
    """Return the rank intervals of `rows`, measured on the same samples, by evaluation."""
    found = rank_intervals(
        {str(row.evaluation): row.value for row in rows},
        {str(row.evaluation): np.frombuffer(row.resampled, "<f8") for row in rows},
        TrackName(track_name).side,
        best_of={str(row.evaluation): row.tried for row in rows},
    )
    by_rank: dict[int, list[RankedEvaluation]] = {}
    for row in sorted(rows, key=lambda row: row.rank):
        by_rank.setdefault(row.rank, []).append(row)
    following = dict(zip(by_rank, [*list(by_rank.values())[1:], []], strict=True))
    return {
        row.evaluation: RankColumns(
            found.intervals[str(row.evaluation)].low,
            found.intervals[str(row.evaluation)].high,
            all(found.separated(str(row.evaluation), str(worse.evaluation)) for worse in following[row.rank])
            if following[row.rank]
            else None,
        )
        for row in rows
    }
