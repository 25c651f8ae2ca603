"""Leaderboards of the transfer format as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from demo.terminal_tables import board_table, rank_cell
from formats.transfer.tournaments.boards import TransferBoard, TransferBoardRow


def print_boards(boards: Iterable[tuple[str, TransferBoard]], console: Console) -> None:
    """Print each leaderboard: rank, team or baseline, scores, coverage and opponents."""
    for title, board in boards:
        table = board_table(title)
        table.add_column("submission", max_width=32)  # in a narrow terminal only this column shrinks
        for name in ("score", "worst", "coverage", "opponents"):
            table.add_column(name, justify="right", no_wrap=True)
        for row in board.rows:
            table.add_row(*_cells(row))
        console.print(table)
        if board.under_way:
            console.print(f"  still evaluated: {', '.join(each.title for each in board.under_way)}")
        console.print()


def _cells(row: TransferBoardRow) -> tuple[str, ...]:
    shares = (row.score, row.worst, row.coverage)
    return (
        rank_cell(row),
        row.team or "(baseline)",
        row.title,
        *("" if share is None else f"{share:.1%}" for share in shares),
        str(row.opponents),
    )
