"""The preview of a round of the transfer format: its places next to the ranks on the leaderboards."""

from __future__ import annotations

from formats.transfer.tournaments.boards import tournament_in_force
from formats.transfer.tournaments.selectors import current_entrants
from rounds.models import Round, RoundEntry
from rounds.publishing.preview import Moved, Preview, moved, places_of


def preview(round_: Round) -> list[Preview]:
    """Return the places of each track next to the ranks on the leaderboard. There are no pools."""
    board = tournament_in_force(round_.competition)
    ranks = {
        (row.track_id, row.submission.repository.entry_id): row.rank
        for row in (current_entrants(board) if board else ())
        if row.submission is not None and row.submission.baseline_at is None
    }
    return places_of(round_, lambda entry: _moved(entry, ranks))


def _moved(entry: RoundEntry, ranks: dict[tuple[int, int], int | None]) -> Moved:
    score = "no opponent counts" if entry.value is None else f"score {entry.value:.1%}"
    why = f"{score}, over {entry.opponents} opponents" if entry.opponents else score
    return moved(entry, why, ranks.get((entry.track_id, entry.submission.repository.entry_id)))
