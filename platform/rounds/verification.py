"""Verification of everything that is shown against what it follows from.

Scores, leaderboards and the quota ledger are verified elsewhere; this module adds the pools of published rounds, and in
the transfer format the places of rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from competitions.models import Competition, Track
from core.difference import Difference
from leaderboards.models import Pool
from leaderboards.quota_check import differing_slots
from leaderboards.verification import Verified, verify_boards
from formats.transfer.rounds import standings as transfer_standings
from rounds.models import Round
from rounds.preview import pool_after, reasons_of
from submissions.models import Player
from tournaments.boards import tournaments_in_force
from tournaments.models import Entrant
from tournaments.verification import differing


def verify(competition: Competition | None = None, *, repair: bool = False) -> Verified:
    """Compare scores, leaderboards, pools, places and quota slots of one competition, or of all, with their sources.

    With `repair`, computed values are written, but not those of rounds.
    """
    seen = verify_boards(competition, repair=repair)
    slots = differing_slots(competition, repair=repair)
    transfer = Competition.objects.filter(format=Competition.Format.TRANSFER)
    boards = tournaments_in_force(transfer if competition is None else transfer.filter(pk=competition.pk)).values()
    entrants = Entrant.objects.filter(tournament__in=boards, left_at=None).count()
    differences = (
        *seen.differences,
        *(difference for board in boards for difference in differing(board, repair=repair)),
        *differing_pools(competition),
        *differing_places(competition),
        *slots,
    )
    return replace(seen, standings=seen.standings + entrants, differences=differences)


def differing_places(competition: Competition | None = None) -> Iterator[Difference]:
    """Compare the places of the scored rounds of the transfer format with what the labels give."""
    ranked = Round.objects.filter(competition__format=Competition.Format.TRANSFER)
    rounds = ranked.filter(state__in=(Round.State.SCORED, Round.State.PUBLISHED)).order_by("pk")
    related = rounds.select_related("competition", "rules", "sample_set")
    for round_ in related if competition is None else related.filter(competition=competition):
        yield from transfer_standings.differing(round_)


def differing_pools(competition: Competition | None = None) -> Iterator[Difference]:
    """Compare the pools that rounds made with the places, by the players that were gone at the publication."""
    pooled = Round.objects.filter(competition__format=Competition.Format.QUERY)
    rounds = pooled.filter(state=Round.State.PUBLISHED).select_related("competition").order_by("pk")
    for round_ in rounds if competition is None else rounds.filter(competition=competition):
        for track in round_.competition.tracks.filter(round_entries__in=round_.entries.exclude(place=None)).distinct():
            yield from _of_pool(round_, track)


def _of_pool(round_: Round, track: Track) -> Iterator[Difference]:
    pool = round_.pools.filter(track=track).first()
    if pool is None:
        yield Difference(f"{round_}", f"the pool of {track} that it made is missing")
        return
    before = track.pools.filter(number__lt=pool.number).first()
    left = set(round_.gone.values_list("pk", flat=True))
    placed = round_.entries.filter(track=track, place__isnull=False)
    entries = list(placed.select_related("player").order_by("place", "order"))
    gone = {entry.pk for entry in entries if entry.inconsistent or entry.player_id in left}
    stays = [player for player in _players(before) if player.pk not in left]
    expected = pool_after(entries, stays, gone, reasons_of(round_)[1])
    actual = _players(pool)
    if actual != expected[: len(actual)]:
        found, should = (", ".join(player.title for player in some) for some in (actual, expected[: len(actual)]))
        yield Difference(f"{pool}", f"it holds {found}, but {round_.title} gives {should}")


def _players(pool: Pool | None) -> list[Player]:
    return [place.player for place in pool.places.select_related("player")] if pool else []
