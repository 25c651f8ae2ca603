"""The field of a round: its entries, and the competition's baselines, which are opponents without a place."""

from __future__ import annotations

from collections.abc import Sequence

from competitions.models import Competition, Track
from core import clock
from core.errors import Refusal
from formats.transfer.tournaments.selectors import Participant, baseline_players
from formats.transfer.tracks import ATTACK_TRACKS
from rounds.models import RoundEntry
from submissions.models import Player


def participants(competition: Competition, entries: Sequence[RoundEntry]) -> list[Participant]:
    """Return who takes part in the tournament of a round with `entries`."""
    now = clock.database_now()
    field = [Participant(entry.track, entry.player, entry.submission, now) for entry in entries]
    return field + [Participant(track, player, None, now) for track, player in baseline_players(competition)]


def players_of(competition: Competition, entries: Sequence[RoundEntry]) -> list[tuple[Track, Player]]:
    """Return the players of a round with `entries`, with their tracks."""
    return [*((entry.track, entry.player) for entry in entries), *baseline_players(competition)]


def check_sides(competition: Competition, entries: Sequence[RoundEntry]) -> None:
    """Raise `Refusal` where a round with `entries` lacks a side, or a baseline that is not built."""
    _check_baselines(competition)
    if not entries:
        raise Refusal(
            "no submission was ready when the window began",
            fix="cancel this round, and plan another when there is one",
        )
    attacking = {track.name in ATTACK_TRACKS for track, _ in players_of(competition, entries)}
    for needed, name in ((True, "attack"), (False, "defence")):
        if needed not in attacking:
            raise Refusal(
                f"no {name} was ready when the window began, and the competition has no {name} as a baseline",
                fix="cancel this round, and plan another when there is one",
            )


def _check_baselines(competition: Competition) -> None:
    """Raise `Refusal` while a baseline is not built: it belongs to the field."""
    built = {(track.name, player.baseline) for track, player in baseline_players(competition)}
    missing = [
        f"{name} ({track.name})"
        for track in competition.tracks.all()
        for name in track.baselines
        if (track.name, name) not in built
    ]
    if missing:
        raise Refusal(
            f"these baselines are not built yet: {', '.join(missing)}",
            fix="wait until a worker has built them; if none does, see its log",
        )
