"""Verification of competitions of the query format: scores, leaderboards, and the pools that rounds made."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from competitions.models import Competition, Track
from core.data_difference import Difference, Verified
from formats.query.leaderboards.models import Pool
from formats.query.leaderboards.score_verification import verify_boards
from formats.query.rounds.preview import pool_after, reasons_of, weak_models
from rounds.models import Round
from submissions.models import Player


def verify(competitions: QuerySet[Competition], *, repair: bool) -> Verified:
    """Compare scores, leaderboards and the pools of published rounds with their sources."""
    boards = (verify_boards(competition, repair=repair) for competition in competitions)
    return sum(boards, Verified()) + Verified(differences=tuple(differing_pools(competitions)))


def differing_pools(competitions: QuerySet[Competition]) -> Iterator[Difference]:
    """Compare the pools that rounds made with the places, by the players that were gone at the publication."""
    published = Round.objects.filter(competition__in=competitions, state=Round.State.PUBLISHED)
    for round_ in published.select_related("competition").order_by("pk"):
        for track in round_.competition.tracks.filter(round_entries__in=round_.entries.exclude(place=None)).distinct():
            yield from _of_pool(round_, track)


def _of_pool(round_: Round, track: Track) -> Iterator[Difference]:
    pool = Pool.objects.filter(rounds__round=round_, track=track).first()
    if pool is None:
        yield Difference(f"{round_}", f"the pool of {track} that it made is missing")
        return
    before = track.pools.filter(number__lt=pool.number).first()
    left = set(round_.gone_players.values_list("player", flat=True))
    placed = round_.entries.filter(track=track, place__isnull=False)
    entries = list(placed.select_related("player").order_by("place", "order"))
    gone = {entry.pk for entry in entries if entry.inconsistent or entry.player_id in left}
    stays = [player for player in _players(before) if player.pk not in left]
    unmet, actual = reasons_of(round_)[1], _players(pool)
    expected = pool_after(entries, stays, gone, unmet, weak_models(round_))
    # earlier versions put models with the score 0 into the pool as well
    earlier = pool_after(entries, stays, gone, unmet)
    if actual not in (expected[: len(actual)], earlier[: len(actual)]):
        found, should = (", ".join(player.title for player in some) for some in (actual, expected[: len(actual)]))
        yield Difference(f"{pool}", f"it holds {found}, but {round_.title} gives {should}")


def _players(pool: Pool | None) -> list[Player]:
    return [place.player for place in pool.places.select_related("player")] if pool else []
