"""What the tables of all formats share in a terminal."""

from __future__ import annotations

from typing import Protocol

from rich.console import Console
from rich.table import Table


class RankedRow(Protocol):
    """A row of a leaderboard."""

    @property
    def rank(self) -> int | None:
        """Its rank, None without one."""

    @property
    def rank_low(self) -> int | None:
        """The best rank of its interval, None without one."""

    @property
    def rank_high(self) -> int | None:
        """The worst rank of its interval, None if it is open."""


def board_table(title: str) -> Table:
    """Return the table of a leaderboard with its first columns: rank and team."""
    table = Table(title=title, title_justify="left", show_edge=False)
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("team", no_wrap=True)
    return table


def rank_cell(row: RankedRow) -> str:
    """Return the rank with its interval, as "2 (2 to 8)"."""
    if row.rank is None:
        return "none yet"
    if row.rank_low is None:
        return str(row.rank)
    high = row.rank_high
    return f"{row.rank} ({f'{row.rank_low} to {high}' if high else f'from {row.rank_low}'})"


def print_table(table: Table, console: Console) -> None:
    """Print a table and an empty line."""
    console.print(table)
    console.print()
