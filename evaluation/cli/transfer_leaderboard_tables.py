"""Leaderboards of a match of the transfer format, for people."""

from __future__ import annotations

from evaluation.cli.output import print_table, say
from evaluation.formats.transfer.results import PairCounts
from evaluation.formats.transfer.rules import TransferTrack
from evaluation.formats.transfer.runner.match_result import TransferResult
from evaluation.formats.transfer.scoring.scores import TransferStanding
from evaluation.formats.transfer.scoring.success_and_error_tables import accuracy, separated, share_text

_TITLES = {
    TransferTrack.ATTACK: "Attacks",
    TransferTrack.TARGETED_ATTACK: "Targeted attacks",
    TransferTrack.DEFENCE: "Defences",
}
_COLUMNS = ("rank", "name", "score", "95 % interval", "raw score", "worst score", "coverage", "opponents", "seconds")
_READING = (
    "Intervals: 95 % over images, against these opponents; do not compare two of them. Ranks in brackets: the ranks "
    "that fit the data, 95 % for all rows together. In a cell, the 95 % interval of the share."
)


def show(result: TransferResult) -> None:
    """Print a leaderboard of each track, like tables 1 to 3 of the paper, and a matrix for each epsilon."""
    for track, title in _TITLES.items():
        rows = result.board(track)
        if rows:
            print_table(title, _COLUMNS, [_row(row) for row in rows], text=(1,))
            if text := separated(rows, result.images):
                say(text)
    say(_READING)
    for matrix in result.matrices():
        where = "all epsilons" if matrix.epsilon is None else f"epsilon {matrix.epsilon}"
        cells = [(one, *(_accuracy(matrix.pairs[one, other]) for other in matrix.defences)) for one in matrix.attacks]
        columns = ("attack", *matrix.defences)
        print_table(f"Right labels at {where}, {matrix.images} images", columns, cells, text=(0,))


def _ranks(row: TransferStanding) -> str:
    """Return a rank with its interval, as "2 (1 to 4)"."""
    return str(row.rank) if row.rank_low is None else f"{row.rank} ({row.rank_low} to {row.rank_high})"


def _row(row: TransferStanding) -> tuple[str, ...]:
    return (
        _ranks(row),
        row.name,
        _score(row.score),
        "-" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}",
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
    share = "-" if found is None else share_text(found, pair.labelled)
    missing = pair.images - pair.labelled
    return f"{share} ({missing} missing)" if missing else share
