"""Boards and matrices as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from evaluation.cli.output import OUT, print_table
from evaluation.domain.players import Track
from evaluation.domain.results import MatchResult
from evaluation.tournament.table import Board, Matrix, Row, boards, matrices

_WIDE = 110
"""Terminal columns from which the two least important columns are shown too."""

_TITLES = {
    Track.MODEL: "Models, against the untargeted attacks (larger is better)",
    Track.UNTARGETED: "Untargeted attacks (smaller is better)",
    Track.TARGETED: "Targeted attacks (smaller is better)",
}


def show(results: Sequence[MatchResult]) -> None:
    """Print every board that `results` allow, then the medians of each pair."""
    for board in boards(results):
        _show_board(board)
    for matrix in matrices(results):
        _show_matrix(matrix)


def for_json(results: Sequence[MatchResult]) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "boards": [asdict(board, dict_factory=_without_resamples) for board in boards(results)],
        "matrices": [asdict(matrix) for matrix in matrices(results)],
    }


def _show_board(board: Board) -> None:
    hardest = "strongest opponent" if board.track is Track.MODEL else "hardest opponent"
    columns = ("rank", "name", "score", "95 % interval", "failures", hardest, "queries", "seconds")
    shown = len(columns) if OUT.width >= _WIDE else len(columns) - 2
    rows = [_cells(row)[:shown] for row in board.rows]
    print_table(_TITLES[board.track], columns[:shown], rows, text=(1, 5))


def _cells(row: Row) -> list[str]:
    score = row.score
    return [
        str(row.rank),
        row.name,
        f"{score.value:.3f}",
        f"{score.low:.3f} to {score.high:.3f}",
        f"{score.failures} of {score.samples * len(score.per_opponent)}",
        row.worst_opponent,
        "" if score.mean_queries is None else f"{score.mean_queries:.0f}",
        "" if score.median_seconds is None else f"{score.median_seconds:.2f}",
    ]


def _show_matrix(matrix: Matrix) -> None:
    rows = [
        [attack, *(f"{median:.3f}" for median in medians)]
        for attack, medians in zip(matrix.attacks, matrix.medians, strict=True)
    ]
    print_table(f"Median distances, {matrix.track} attacks against models", ("attack", *matrix.models), rows, text=(0,))


def _without_resamples(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in items if name != "resampled"}
