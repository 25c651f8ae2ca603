"""The standings of a tournament's entrants."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from core.errors import Fault
from tournaments.engine_adapter import standings_of
from tournaments.intervals import RankInterval, ScoreInterval, intervals_of, score_ranks
from tournaments.models import Entrant, Tournament
from tournaments.selectors import ATTACKING, current_entrants, pair_counts, seconds_of

_OWN = ("rank", "score", "raw", "worst", "coverage", "opponents", "median_seconds")
INTERVALS = ("low", "high", "rank_low", "rank_high")
COLUMNS = (*_OWN, *INTERVALS)
"""The columns of an entrant that hold its standing."""


def rank(tournament: Tournament) -> None:
    """Write the standings of all entrants. Raise `Fault` if counts contradict each other."""
    computed = standings(tournament)
    for entrant, values in computed:
        for name, value in values.items():
            setattr(entrant, name, value)
    Entrant.objects.bulk_update([entrant for entrant, _ in computed], COLUMNS)


def standings(tournament: Tournament) -> list[tuple[Entrant, dict[str, Any]]]:
    """Return the entrants that count now, each with the standing that follows from the counts of its runs.

    Entrants with the same player share its rank, and each of them takes one: the next rank is higher by their number.
    Raise `Fault` if counts contradict each other.
    """
    # not in the order of the ranks before: floating-point sums over opponents depend on their order
    inside = list(current_entrants(tournament).order_by("pk"))
    players = {entrant.player_id: entrant.player for entrant in inside}
    attacking = {entrant.player_id for entrant in inside if entrant.track.name in ATTACKING}
    attacks = [player for key, player in players.items() if key in attacking]
    defences = [player for key, player in players.items() if key not in attacking]
    try:
        pairs = pair_counts(tournament, attacks, defences)
        computed = standings_of(pairs, tournament, seconds_of(tournament, players.values()))
        intervals = intervals_of(tournament, computed, attacks, defences)
    except ValueError as error:
        raise Fault(f"the runs of {tournament} contradict each other: {error}") from error
    rows = {int(row.name): row for row in computed}
    found = []
    for entrant in inside:
        row, interval = rows.get(entrant.player_id), intervals.get(str(entrant.player_id))
        values = {name: getattr(row, name) if row else None for name in _OWN}
        values |= {"low": interval.low if interval else None, "high": interval.high if interval else None}
        if row is not None and row.score is None:
            values["rank"] = None
        found.append((entrant, values))
    taken: dict[int, list[int]] = defaultdict(list)
    for entrant, values in found:
        if values["rank"] is not None:
            taken[entrant.track_id].append(values["rank"])
    for ranks in taken.values():
        ranks.sort()
    for entrant, values in found:
        if values["rank"] is not None:
            values["rank"] = bisect_left(taken[entrant.track_id], values["rank"]) + 1
    compared = _rank_intervals(found, intervals)
    for entrant, values in found:
        fits = compared.get(entrant.pk)
        values |= {"rank_low": fits.low if fits else None, "rank_high": fits.high if fits else None}
    return found


def _rank_intervals(
    found: Sequence[tuple[Entrant, dict[str, Any]]], intervals: Mapping[str, ScoreInterval]
) -> dict[int, RankInterval]:
    """Return the rank interval of each entrant by its key: entrants with the same player take a rank each."""
    ranks: dict[int, RankInterval] = {}
    for track in {entrant.track_id for entrant, _ in found}:
        own = {str(entrant.pk): (entrant, values) for entrant, values in found if entrant.track_id == track}
        scores = {key: values["score"] for key, (_, values) in own.items() if values["score"] is not None}
        known = {
            key: intervals[str(entrant.player_id)]
            for key, (entrant, _) in own.items()
            if str(entrant.player_id) in intervals
        }
        ranks |= {int(key): fits for key, fits in score_ranks(scores, known).items()}
    return ranks
