"""The standings of a tournament's entrants."""

from __future__ import annotations

from core.errors import Fault
from tournaments.engine_adapter import standings_of
from tournaments.models import Entrant, Tournament
from tournaments.selectors import ATTACKING, current_entrants, pair_counts, seconds_of


def rank(tournament: Tournament) -> None:
    """Write the standings of all entrants. Raise `Fault` if counts contradict each other."""
    inside = list(current_entrants(tournament))
    players = {entrant.player_id: entrant.player for entrant in inside}
    attacking = {entrant.player_id for entrant in inside if entrant.track.name in ATTACKING}
    attacks = [player for key, player in players.items() if key in attacking]
    defences = [player for key, player in players.items() if key not in attacking]
    try:
        pairs = pair_counts(tournament, attacks, defences)
    except ValueError as error:
        raise Fault(f"the runs of {tournament} contradict each other: {error}") from error
    rows = {int(row.name): row for row in standings_of(pairs, tournament, seconds_of(tournament, players.values()))}
    for entrant in inside:
        row = rows.get(entrant.player_id)
        entrant.rank = row.rank if row and row.score is not None else None
        entrant.score, entrant.worst = (row.score, row.worst) if row else (None, None)
        entrant.raw, entrant.opponents = (row.raw, row.opponents) if row else (None, None)
        entrant.coverage, entrant.median_seconds = (row.coverage, row.median_seconds) if row else (None, None)
    Entrant.objects.bulk_update(inside, ["rank", "score", "raw", "worst", "coverage", "opponents", "median_seconds"])
