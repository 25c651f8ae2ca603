"""Leaderboards, previews and standings of the query format as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from demo.terminal_tables import board_table, print_table, rank_cell
from evaluation.domain.score_decimals import decimals
from formats.query.leaderboards.models import Evaluation, Standing
from formats.query.tracks import MODEL
from rounds.publishing.preview import Preview
from rounds.selectors import StandingRow


def print_boards(boards: Mapping[str, Sequence[Standing]], console: Console) -> None:
    """Print each leaderboard: rank and score with intervals, team, failures, hardest opponent."""
    for title, standings in boards.items():
        table = board_table(title)
        model = any(row.track.name == MODEL for row in standings)
        for name in ("score", "95 % interval", "held" if model else "found nothing"):
            table.add_column(name, justify="right", no_wrap=True)
        # in a narrow terminal only this column shrinks
        table.add_column("strongest opponent" if model else "hardest opponent", max_width=36)
        for row in standings:
            score = row.evaluation
            table.add_row(
                rank_cell(row),
                row.entry.team.name,
                *_score(score),
                f"{score.failures} of {score.tries}",
                score.worst_opponent.title if score.worst_opponent else "",
            )
        print_table(table, console)


def print_preview(title: str, views: Sequence[Preview], console: Console) -> None:
    """Print what publishing a round changes: pools before and after, and the place of each entry with its reason."""
    for view in views:
        if not view.rows:
            continue
        table = Table(title=f"{title}, {view.track.title}: preview", title_justify="left", show_edge=False)
        for name in ("place", "rank before"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("team", no_wrap=True)
        table.add_column("why")
        table.add_column("")
        for row in view.rows:
            table.add_row(str(row.place), str(row.rank_before or ""), row.team, row.why, row.remark)
        console.print(table)
        for name, pool in (("pool now", view.pool_before), ("pool after", view.pool_after)):
            console.print(f"  {name}: {', '.join(player.title for player in pool)}")
        console.print()


def print_standings(title: str, sides: Mapping[str, Sequence[StandingRow]], console: Console) -> None:
    """Print the standings of a round: place, team, score with its interval, and the stage of an elimination."""
    for track_name, rows in sides.items():
        table = Table(title=f"{title}, {track_name}", title_justify="left", show_edge=False)
        table.add_column("place", justify="right")
        table.add_column("team", no_wrap=True)
        for name in ("score", "95 % interval"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("")
        for row in rows:
            scored = row.value is not None and row.low is not None and row.high is not None
            table.add_row(
                str(row.place) if row.rank_low is None else f"{row.place} ({row.rank_low} to {row.rank_high})",
                row.team,
                *(_score(row) if scored else ("", "")),
                _remark(row),
            )
        print_table(table, console)


def _score(row: Evaluation | StandingRow) -> tuple[str, str]:
    """Return a score and its interval, with the digits that the interval supports."""
    places = decimals(row.low or 0.0, row.high or 0.0)
    return f"{row.value:.{places}f}", f"{row.low:.{places}f} to {row.high:.{places}f}"


def _remark(row: StandingRow) -> str:
    if row.value is None:
        return f"cut in stage {row.stage}"
    return f"scored by {row.met} of {row.opponents}" if row.met != row.opponents else ""
