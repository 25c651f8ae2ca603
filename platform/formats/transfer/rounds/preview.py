"""The preview of a round of the transfer format: its places next to the ranks on the leaderboards."""

from __future__ import annotations

from formats.transfer.tournaments.boards import tournament_in_force
from formats.transfer.tournaments.selectors import current_entrants
from rounds.models import Round, RoundEntry
from rounds.publishing.preview import Moved, Preview, gone_of, ranked_entries


def preview(round_: Round) -> list[Preview]:
    """Return the places of each track next to the ranks on the leaderboard. There are no pools."""
    board = tournament_in_force(round_.competition)
    ranks = {
        (row.track_id, row.submission.repository.entry_id): row.rank
        for row in (current_entrants(board) if board else ())
        if row.submission is not None
    }
    entries = ranked_entries(round_)
    return [
        Preview(track, [_moved(entry, ranks) for entry in entries if entry.track_id == track.pk])
        for track in round_.competition.tracks.all()
    ]


def _moved(entry: RoundEntry, ranks: dict[tuple[int, int], int | None]) -> Moved:
    repository = entry.submission.repository
    score = "no opponent counts" if entry.value is None else f"score {entry.value:.4f}"
    return Moved(
        team=repository.entry.team.name,
        title=entry.submission.title,
        rank_before=ranks.get((entry.track_id, repository.entry_id)),
        place=entry.place,
        why=f"{score}, over {entry.opponents} opponents" if entry.opponents else score,
        gone=gone_of(entry),
    )
