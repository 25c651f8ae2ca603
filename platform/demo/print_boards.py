"""Leaderboards as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from competitions.models import Track
from evaluation.domain.score_decimals import decimals
from leaderboards.models import Evaluation, Standing
from rounds.publishing.preview import Preview
from rounds.selectors import StandingRow
from tournaments.boards import Board, BoardRow


def print_boards(boards: Mapping[str, Sequence[Standing]], console: Console) -> None:
    """Print each leaderboard: rank and score with intervals, team, failures, hardest opponent."""
    for title, standings in boards.items():
        table = Table(title=title, title_justify="left", show_edge=False)
        table.add_column("rank", justify="right", no_wrap=True)
        table.add_column("team", no_wrap=True)
        model = any(row.track.name == Track.Name.MODEL for row in standings)
        for name in ("score", "95 % interval", "held" if model else "found nothing"):
            table.add_column(name, justify="right", no_wrap=True)
        # in a narrow terminal only this column shrinks
        table.add_column("strongest opponent" if model else "hardest opponent", max_width=36)
        for row in standings:
            score = row.evaluation
            table.add_row(
                _rank(row),
                row.entry.team.name,
                *_score(score),
                f"{score.failures} of {score.tries}",
                score.worst_opponent.title if score.worst_opponent else "",
            )
        console.print(table)
        console.print()


def print_transfer_boards(boards: Iterable[tuple[str, Board]], console: Console) -> None:
    """Print each leaderboard of the transfer format: rank, team or baseline, scores, coverage and opponents."""
    for title, board in boards:
        table = Table(title=title, title_justify="left", show_edge=False)
        table.add_column("rank", justify="right", no_wrap=True)
        table.add_column("team", no_wrap=True)
        table.add_column("submission", max_width=32)  # in a narrow terminal only this column shrinks
        for name in ("score", "worst", "coverage", "opponents"):
            table.add_column(name, justify="right", no_wrap=True)
        for row in board.rows:
            table.add_row(*_transfer_cells(row))
        console.print(table)
        if board.under_way:
            console.print(f"  still evaluated: {', '.join(each.title for each in board.under_way)}")
        console.print()


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
        console.print(table)
        console.print()


def _transfer_cells(row: BoardRow) -> tuple[str, ...]:
    shares = (row.score, row.worst, row.coverage)
    return (
        _rank(row),
        row.team or "(baseline)",
        row.title,
        *("" if share is None else f"{share:.1%}" for share in shares),
        str(row.opponents),
    )


def _rank(row: Standing | BoardRow) -> str:
    """Return the rank with its interval, as "2 (2 to 8)"."""
    if row.rank is None:
        return "none yet"
    if row.rank_low is None:
        return str(row.rank)
    high = row.rank_high
    return f"{row.rank} ({f'{row.rank_low} to {high}' if high else f'from {row.rank_low}'})"


def _score(row: Evaluation | StandingRow) -> tuple[str, str]:
    """Return a score and its interval, with the digits that the interval supports."""
    places = decimals(row.low or 0.0, row.high or 0.0)
    return f"{row.value:.{places}f}", f"{row.low:.{places}f} to {row.high:.{places}f}"


def _remark(row: StandingRow) -> str:
    if row.value is None:
        return f"cut in stage {row.stage}"
    return f"scored by {row.met} of {row.opponents}" if row.met != row.opponents else ""
