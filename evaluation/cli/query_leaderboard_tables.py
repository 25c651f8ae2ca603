"""Leaderboards and matrices as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from evaluation.cli.output import OUT, print_table, say
from evaluation.domain.players import TrackName
from evaluation.domain.score_decimals import decimals
from evaluation.formats.query.results import MatchResult
from evaluation.formats.query.scoring.scores_v1 import Score
from evaluation.formats.query.tournament.leaderboards import Board, DistanceMatrix, LeaderboardRow, boards, matrices

_WIDE = 110
"""The terminal width from which the two least important columns are shown, too."""

_TITLES = {
    TrackName.MODEL: "Models, against the untargeted attacks (larger is better)",
    TrackName.UNTARGETED: "Untargeted attacks (smaller is better)",
    TrackName.TARGETED: "Targeted attacks (smaller is better)",
}

_READING = (
    "Distances are L2 of pixels / 255. Intervals: 95 % over samples, against these opponents; do not compare two of "
    "them. Ranks in brackets: the ranks that fit the data, 95 % for all rows together."
)


def show(results: Sequence[MatchResult]) -> None:
    """Print every leaderboard of `results`, then the medians of each pair."""
    shown = boards(results)
    for board in shown:
        _show_board(board)
    say(_READING)
    for matrix in matrices(results):
        of_track = (board for board in shown if board.track is matrix.track)
        _show_matrix(matrix, {row.name: row.score for board in of_track for row in board.rows})


def for_json(results: Sequence[MatchResult]) -> dict[str, Any]:
    """Return the same as plain values, with all digits."""
    return {
        "boards": [_board_for_json(board) for board in boards(results)],
        "matrices": [asdict(matrix) for matrix in matrices(results)],
    }


def _board_for_json(board: Board) -> dict[str, Any]:
    """Return a leaderboard without the resamples of its scores."""
    plain = asdict(board)
    for row in plain["rows"]:
        del row["score"]["resampled"]
    return plain


def _show_board(board: Board) -> None:
    hardest = "strongest opponent" if board.track is TrackName.MODEL else "hardest opponent"
    failures = "held" if board.track is TrackName.MODEL else "found nothing"
    columns = ("rank", "name", "score", "95 % interval", failures, hardest, "queries", "seconds")
    shown = len(columns) if OUT.width >= _WIDE else len(columns) - 2
    print_table(_TITLES[board.track], columns[:shown], [_cells(row)[:shown] for row in board.rows], text=(1, 5))
    if text := board.separated:
        say(text)


def _cells(row: LeaderboardRow) -> list[str]:
    score = row.score
    return [
        f"{row.rank} ({row.rank_low} to {row.rank_high})",
        row.name,
        _digits(score.value, score),
        f"{_digits(score.low, score)} to {_digits(score.high, score)}",
        f"{score.failures} of {score.samples * len(score.per_opponent)}",
        row.worst_opponent,
        "" if score.mean_queries is None else f"{score.mean_queries:.0f}",
        "" if score.median_seconds is None else f"{score.median_seconds:.2f}",
    ]


def _digits(value: float, score: Score) -> str:
    return f"{value:.{decimals(score.low, score.high)}f}"


def _show_matrix(matrix: DistanceMatrix, scores: Mapping[str, Score]) -> None:
    rows = [
        [attack, *(_digits(median, scores[attack]) for median in medians)]
        for attack, medians in zip(matrix.attacks, matrix.medians, strict=True)
    ]
    print_table(f"Median distances, {matrix.track} attacks against models", ("attack", *matrix.models), rows, text=(0,))
