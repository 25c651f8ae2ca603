"""Leaderboards of a match of the transfer format, for people."""

from __future__ import annotations

from evaluation.cli.output import print_table
from evaluation.domain.transfer_results import PairCounts
from evaluation.domain.transfer_rules import TransferTrack
from evaluation.scoring.transfer import TransferStanding
from evaluation.scoring.transfer_tables import accuracy
from evaluation.transfer.result import TransferResult

_TITLES = {
    TransferTrack.ATTACK: "Attacks",
    TransferTrack.TARGETED_ATTACK: "Targeted attacks",
    TransferTrack.DEFENCE: "Defences",
}
_COLUMNS = ("rank", "name", "score", "raw score", "worst score", "coverage", "opponents", "median seconds")


def show(result: TransferResult) -> None:
    """Print a leaderboard of each track, like tables 1 to 3 of the paper, and a matrix for each epsilon."""
    for track, title in _TITLES.items():
        rows = result.board(track)
        if rows:
            print_table(title, _COLUMNS, [_row(row) for row in rows], text=(1,))
    for matrix in result.matrices():
        where = "all epsilons" if matrix.epsilon is None else f"epsilon {matrix.epsilon}"
        cells = [(one, *(_accuracy(matrix.pairs[one, other]) for other in matrix.defences)) for one in matrix.attacks]
        columns = ("attack", *matrix.defences)
        print_table(f"Right labels at {where}, {matrix.images} images", columns, cells, text=(0,))


def _row(row: TransferStanding) -> tuple[str, ...]:
    return (
        str(row.rank),
        row.name,
        _score(row.score),
        f"{row.raw:,}",
        _score(row.worst),
        f"{row.coverage:.1%}",
        str(row.opponents),
        "-" if row.median_seconds is None else f"{row.median_seconds:.1f}",
    )


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _accuracy(pair: PairCounts) -> str:
    found = accuracy(pair)
    share = "-" if found is None else f"{found:.0%}"
    missing = pair.images - pair.labelled
    return f"{share} ({missing} missing)" if missing else share
