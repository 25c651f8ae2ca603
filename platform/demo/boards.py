"""The boards as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from leaderboards.models import Standing


def print_boards(boards: Mapping[str, Sequence[Standing]], console: Console) -> None:
    """Print each board: rank, team, score with its interval, failures, worst opponent."""
    for title, standings in boards.items():
        table = Table(title=title, title_justify="left", show_edge=False)
        table.add_column("rank", justify="right")
        table.add_column("team", no_wrap=True)
        for name in ("score", "95 % interval", "failures"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("worst opponent", no_wrap=True, overflow="ellipsis", max_width=36)
        for row in standings:
            score = row.evaluation
            table.add_row(
                str(row.rank),
                row.entry.team.name,
                f"{score.value:.2f}",
                f"{score.low:.2f} to {score.high:.2f}",
                str(score.failures),
                score.worst_opponent.title if score.worst_opponent else "",
            )
        console.print(table)
        console.print()
