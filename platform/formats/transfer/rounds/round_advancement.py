"""The progression of a running round of the transfer format: from played runs to the outcome.

It depends only on rows, never on a clock or the order of arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from competitions.pseudonyms import public_name
from core import object_store
from core.errors import Fault
from formats.transfer.rounds.round_as_engine_values import Placed, body_of, places_of, record_of
from formats.transfer.tournaments import round_tournaments
from formats.transfer.tournaments.models import Tournament
from formats.transfer.tournaments.selectors import AnyRun
from rounds.models import Round, RoundEntry
from rounds.planning.entries import frozen, prizes_of
from rounds.running.transitions import NO_WORKER, STUCK, locked, move, record_problem
from workers.selectors import live_workers

RESULT = ("place", "value", "low", "high", "met", "opponents", "rank_low", "rank_high")
"""The columns of an entry that the result fills."""

_NAMED = 5
"""Number of failed runs that a problem lists."""


def tournament_of(round_: Round) -> Tournament | None:
    """Return the tournament of a round with what is needed to play it, None for a round that was never frozen."""
    found = Tournament.objects.filter(round=round_).select_related("rules__competition", "sample_set", "competition")
    return found.first()


def frozen_tournament(round_: Round) -> Tournament:
    """Return the tournament of a frozen round, with what is needed to play it. Raise `Fault` without one."""
    tournament = tournament_of(round_)
    if tournament is None:
        raise Fault(f"{round_} has no tournament: it was never frozen")
    return tournament


def advance_round(round_: Round) -> None:
    """Request the runs that a running round lacks, or score it if nothing is left to play. Safe to repeat.

    A run that was given up stops the round, with a problem that names it, until an organiser replays it. Raise `Fault`
    if the rows of the runs contradict each other.
    """
    if not Round.objects.filter(pk=round_.pk, state=Round.State.PLAYING).exists():
        return
    tournament = frozen_tournament(round_)
    requested = round_tournaments.request_missing(tournament)
    if failed := round_tournaments.failed_runs(tournament):
        record_problem(
            round_,
            f"A platform error occurred in {_listed(failed)}. The first: {failed[0].fault}. "
            "Fix the host, then replay them in the list of runs.",
        )
        return
    if requested or not round_tournaments.is_over(tournament):
        record_problem(round_, _missing(tournament))
        return
    # before the lock, from rows that no longer change
    committed = frozen(round_)
    record = record_of(round_, committed, tournament)
    outcome, placed = object_store.put_open(body_of(round_, record)), places_of(record)
    with transaction.atomic():
        current = locked(round_)
        entries = frozen(current)
        # a licence review meanwhile changes the outcome: the next step writes it
        if current.state != Round.State.PLAYING or prizes_of(entries) != prizes_of(committed):
            return
        round_tournaments.end_ranked(tournament)
        _score(current, entries, placed)
        current.outcome = outcome
        move(current, "score", by=None, reason="", outcome=outcome)


def _missing(tournament: Tournament) -> str:
    """Return what the open runs lack, "" if nothing."""
    if stuck := round_tournaments.stuck_run(tournament):
        return STUCK.format(stuck, "runs")
    return "" if live_workers().exists() else f"{NO_WORKER} The round then continues by itself."


def _score(round_: Round, entries: Sequence[RoundEntry], placed: Sequence[Placed]) -> None:
    """Write the places; entries with the same player share one."""
    by_name = {(str(each.standing.track), each.standing.name): each for each in placed}
    for entry in entries:
        found = by_name[entry.track.name, public_name(round_.competition, entry.player.digest)]
        for name, value in result_of(found).items():
            setattr(entry, name, value)
    RoundEntry.objects.bulk_update(entries, RESULT)


def result_of(placed: Placed) -> dict[str, Any]:
    """Return the columns of an entry that the result fills."""
    row = placed.standing
    values = (placed.place, row.score, row.low, row.high, row.opponents, row.opponents, row.rank_low, row.rank_high)
    return dict(zip(RESULT, values, strict=True))


def _listed(runs: Sequence[AnyRun]) -> str:
    named = "; ".join(str(run) for run in runs[:_NAMED])
    more = f"; and {len(runs) - _NAMED} more" if len(runs) > _NAMED else ""
    return f"{len(runs)} of its runs: {named}{more}"
