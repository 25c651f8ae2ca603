"""The players of a tournament as pages list them."""

from __future__ import annotations

from collections.abc import Iterable

from formats.transfer.tournaments.boards import TransferBoardRow, in_order
from formats.transfer.tournaments.models import Entrant
from pages.player_names import PlayerName


def best_first(entrants: Iterable[Entrant]) -> list[Entrant]:
    """Return the entrants by rank, each player once: the same content of two teams is one player."""
    return list({each.player_id: each for each in reversed(in_order(entrants))}.values())[::-1]


def name_of(row: TransferBoardRow) -> PlayerName:
    """Return the name of a player on a leaderboard."""
    return PlayerName(row.title, row.team, row.submission)
