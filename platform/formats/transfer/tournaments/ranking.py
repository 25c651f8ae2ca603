"""The standings of a tournament's entrants."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.db import transaction

from core.errors import Fault
from formats.transfer.tournaments import pair_totals
from formats.transfer.tournaments.engine_runs import PairCounts, TransferStanding, standings_of
from formats.transfer.tournaments.models import Entrant, Tournament
from formats.transfer.tournaments.score_intervals import (
    RankInterval,
    ScoreInterval,
    intervals_from_images,
    intervals_from_sums,
    score_ranks,
)
from formats.transfer.tournaments.selectors import counts_from_runs, current_entrants, seconds_from_runs
from formats.transfer.tracks import ATTACK_TRACKS
from submissions.models import Player

_Counted: TypeAlias = tuple[Sequence[PairCounts], Mapping[str, Sequence[float]]]
"""The counts of all pairs, and the seconds of each player's batches."""

_OWN = ("rank", "score", "raw", "worst", "coverage", "opponents", "median_seconds")
INTERVALS = ("low", "high", "rank_low", "rank_high")
COLUMNS = (*_OWN, *INTERVALS)
"""The columns of an entrant that hold its standing."""


@dataclass(frozen=True)
class _Field:
    """The entrants that count now, and their players, each once."""

    tournament: Tournament
    entrants: Sequence[Entrant]
    attacks: Sequence[Player]
    defences: Sequence[Player]


def rank(tournament: Tournament) -> None:
    """Write the standings of all entrants, without intervals. Raise `Fault` if counts contradict each other.

    `fill_intervals` is to follow: it takes longer, and needs no lock while it computes.
    """
    field = _field_of(tournament)
    _, computed = _scored(field, _totals_of(field))
    for entrant, values in computed:
        for name, value in {**values, **dict.fromkeys(INTERVALS)}.items():
            setattr(entrant, name, value)
    Entrant.objects.bulk_update(field.entrants, COLUMNS)


def fill_intervals(tournament: Tournament) -> None:
    """Write the intervals of the entrants as they are ranked. Raise `Fault` if the runs contradict each other.

    Nothing is written if they are ranked again meanwhile: the step that does so fills them.
    """
    field = _field_of(tournament)
    counted = _totals_of(field)
    rows, computed = _scored(field, counted)
    with _contradictions(tournament):
        intervals = intervals_from_sums(tournament, rows, field.attacks, field.defences, counted[0])
    _add_intervals(computed, intervals)
    with transaction.atomic():
        Tournament.objects.select_for_update(no_key=True).get(pk=tournament.pk)
        ranked = {each.pk: _own_of(each) for each in current_entrants(tournament)}
        if ranked != {entrant.pk: tuple(values[name] for name in _OWN) for entrant, values in computed}:
            return
        for entrant, values in computed:
            for name in INTERVALS:
                setattr(entrant, name, values[name])
        Entrant.objects.bulk_update(field.entrants, INTERVALS)


def standings(tournament: Tournament) -> list[tuple[Entrant, dict[str, Any]]]:
    """Return the entrants that count now, each with the standing that follows from all its runs, for verification.

    Entrants with the same player share its rank, and each of them takes one: the next rank is higher by their number.
    Raise `Fault` if counts contradict each other.
    """
    field = _field_of(tournament)
    with _contradictions(tournament):
        pairs = counts_from_runs(tournament, field.attacks, field.defences)
    seconds = seconds_from_runs(tournament, [*field.attacks, *field.defences])
    rows, computed = _scored(field, (pairs, seconds))
    with _contradictions(tournament):
        intervals = intervals_from_images(tournament, rows, field.attacks, field.defences)
    _add_intervals(computed, intervals)
    return computed


def _field_of(tournament: Tournament) -> _Field:
    # not in the order of the ranks before: floating-point sums over opponents depend on their order
    inside = list(current_entrants(tournament).order_by("pk"))
    players = {entrant.player_id: entrant.player for entrant in inside}
    attacking = {entrant.player_id for entrant in inside if entrant.track.name in ATTACK_TRACKS}
    return _Field(
        tournament,
        inside,
        [player for key, player in players.items() if key in attacking],
        [player for key, player in players.items() if key not in attacking],
    )


def _totals_of(field: _Field) -> _Counted:
    with _contradictions(field.tournament):
        pairs = pair_totals.pair_counts(field.tournament, field.attacks, field.defences)
    return pairs, pair_totals.seconds_of(field.tournament, field.attacks, field.defences)


def _scored(field: _Field, counted: _Counted) -> tuple[list[TransferStanding], list[tuple[Entrant, dict[str, Any]]]]:
    """Return the standings of the players, and each entrant with its own, but intervals."""
    with _contradictions(field.tournament):
        computed = standings_of(counted[0], field.tournament, counted[1])
    rows = {int(row.name): row for row in computed}
    found = []
    for entrant in field.entrants:
        row = rows.get(entrant.player_id)
        values = {name: getattr(row, name) if row else None for name in _OWN}
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
    return computed, found


def _add_intervals(found: Sequence[tuple[Entrant, dict[str, Any]]], intervals: Mapping[str, ScoreInterval]) -> None:
    """Add the intervals to the values of each entrant."""
    compared = _rank_intervals(found, intervals)
    for entrant, values in found:
        interval, fits = intervals.get(str(entrant.player_id)), compared.get(entrant.pk)
        values |= {"low": interval.low if interval else None, "high": interval.high if interval else None}
        values |= {"rank_low": fits.low if fits else None, "rank_high": fits.high if fits else None}


def _own_of(entrant: Entrant) -> tuple[Any, ...]:
    return tuple(getattr(entrant, name) for name in _OWN)


@contextmanager
def _contradictions(tournament: Tournament) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise Fault(f"the runs of {tournament} contradict each other: {error}") from error


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
