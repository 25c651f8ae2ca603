"""Leaderboards, and the table of attacks against models, from the matches of a tournament. Pure.

Every attack must have met every model, over the same samples and under the same rules; otherwise `ValueError` names
the pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.players import TrackName
from evaluation.formats.query.results import MatchResult, Outcome, RefereedSample
from evaluation.formats.query.scoring.ranking import ranking
from evaluation.formats.query.scoring.scores_v1 import Score, attack_score, model_score
from evaluation.scoring.leaderboard_resolution import sentence
from evaluation.scoring.rank_intervals import rank_intervals

_Grid: TypeAlias = dict[tuple[str, str], tuple[RefereedSample, ...]]
"""(attack, model) to rows."""


@dataclass(frozen=True)
class LeaderboardRow:
    """One row of a leaderboard. `worst_opponent` and the opponents in `Score.per_opponent` are names.

    `rank_low` and `rank_high` bound the 95 % rank interval.
    """

    rank: int
    name: str
    score: Score
    worst_opponent: str
    rank_low: int
    rank_high: int


@dataclass(frozen=True)
class Board:
    """The leaderboard of one track, best first, and its opponents by name."""

    track: TrackName
    rows: tuple[LeaderboardRow, ...]
    opponents: tuple[str, ...]

    @property
    def separated(self) -> str:
        """Which differences of the scores are significant, as a sentence; "" if there is nothing to compare."""
        ranked = [(row.score.value, row.rank_low) for row in self.rows]
        return sentence(ranked, f"{self.rows[0].score.samples} samples", lambda closest: f"{closest:.2f}")


@dataclass(frozen=True)
class DistanceMatrix:
    """Median distances of one track: `medians[i][j]` is that of `attacks[i]` against `models[j]`."""

    track: TrackName
    attacks: tuple[str, ...]
    models: tuple[str, ...]
    medians: tuple[tuple[float, ...], ...]


def boards(matches: Sequence[MatchResult]) -> tuple[Board, ...]:
    """Return the leaderboards of `matches`: models (against the untargeted attacks), untargeted and targeted attacks.

    Scores follow Brendel et al. 2020, eq. 2 to 5, over all given opponents; a track without players has no
    leaderboard.
    """
    models = _models(matches)
    untargeted = _grid(matches, TrackName.UNTARGETED, models)
    targeted = _grid(matches, TrackName.TARGETED, models)
    made = []
    if untargeted:
        made.append(_board(TrackName.MODEL, untargeted, models, _attacks(untargeted)))
        made.append(_board(TrackName.UNTARGETED, untargeted, _attacks(untargeted), models))
    if targeted:
        made.append(_board(TrackName.TARGETED, targeted, _attacks(targeted), models))
    return tuple(made)


def matrices(matches: Sequence[MatchResult]) -> tuple[DistanceMatrix, ...]:
    """Return the table of median distances of each attack track that was played."""
    models = _models(matches)
    made = []
    for track in (TrackName.UNTARGETED, TrackName.TARGETED):
        grid = _grid(matches, track, models)
        attacks = _attacks(grid)
        medians = tuple(
            tuple(float(np.median([row.distance for row in grid[attack, model]])) for model in models)
            for attack in attacks
        )
        if attacks:
            made.append(DistanceMatrix(track, attacks, models, medians))
    return tuple(made)


def _models(matches: Sequence[MatchResult]) -> tuple[str, ...]:
    return tuple(sorted({match.model for match in matches}))


def _attacks(grid: _Grid) -> tuple[str, ...]:
    return tuple(sorted({attack for attack, _ in grid}))


def _grid(matches: Sequence[MatchResult], track: TrackName, models: Sequence[str]) -> _Grid:
    """Return the matches of one track, checked to be complete, unique and comparable."""
    grid: _Grid = {}
    first: MatchResult | None = None
    for match in matches:
        if match.track != track:
            continue
        first = first or match
        pair = f"{match.attack} against {match.model} ({track})"
        if (match.attack, match.model) in grid:
            raise ValueError(f"the match of {pair} is listed twice")
        if match.rules != first.rules:
            raise ValueError(f"the match of {pair} was played under other rules than the first")
        if not match.samples or _asked(match) != _asked(first):
            raise ValueError(f"the match of {pair} was not played over the same samples as the first")
        grid[match.attack, match.model] = match.samples
    for attack in _attacks(grid):
        for model in models:
            if (attack, model) not in grid:
                raise ValueError(f"the match of {attack} against {model} ({track}) is missing")
    return grid


def _asked(match: MatchResult) -> tuple[tuple[int, int, int | None], ...]:
    return tuple((row.sample, row.label, row.target) for row in match.samples)


def _board(track: TrackName, grid: _Grid, names: Sequence[str], opponents: tuple[str, ...]) -> Board:
    scores = {}
    for name in names:
        pairs = [(rival, name) if track is TrackName.MODEL else (name, rival) for rival in opponents]
        scores[name] = _score(track, [grid[pair] for pair in pairs])
    values = {name: score.value for name, score in scores.items()}
    fits = rank_intervals(values, {name: score.resampled for name, score in scores.items()}, track.side).intervals
    rows = tuple(
        LeaderboardRow(
            rank, name, scores[name], opponents[scores[name].worst_opponent], fits[name].low, fits[name].high
        )
        for rank, name in ranking(values, track.side)
    )
    return Board(track, rows, opponents)


def _score(track: TrackName, played: Sequence[Sequence[RefereedSample]]) -> Score:
    def column(read: Callable[[RefereedSample], Any]) -> NDArray[Any]:
        return np.array([[read(row) for row in rows] for rows in played])

    compute = model_score if track is TrackName.MODEL else attack_score
    return compute(
        column(lambda row: float(row.distance)),
        failed=column(lambda row: row.outcome is Outcome.FAILED),
        seconds=column(lambda row: float(row.seconds)),
        queries=column(lambda row: row.queries),
        seed=0,
    )
