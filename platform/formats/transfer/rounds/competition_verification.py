"""Verification of competitions of the transfer format: their leaderboards, and the places of their rounds."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from competitions.models import Competition
from core.data_difference import Difference, Verified
from formats.transfer.rounds import standings
from formats.transfer.tournaments.boards import tournaments_in_force
from formats.transfer.tournaments.models import Entrant
from formats.transfer.tournaments.tournament_verification import differing
from rounds.models import Round


def verify(competitions: QuerySet[Competition], *, repair: bool) -> Verified:
    """Compare leaderboards and the places of scored rounds with their labels."""
    boards = tournaments_in_force(competitions).values()
    entrants = Entrant.objects.filter(tournament__in=boards, left_at=None).count()
    differences = [difference for board in boards for difference in differing(board, repair=repair)]
    return Verified(ranked=entrants, differences=(*differences, *differing_places(competitions)))


def differing_places(competitions: QuerySet[Competition]) -> Iterator[Difference]:
    """Compare the places of the scored rounds with what the labels give."""
    scored = (Round.State.SCORED, Round.State.PUBLISHED)
    ranked = Round.objects.filter(competition__in=competitions, state__in=scored).order_by("pk")
    for round_ in ranked.select_related("competition", "rules", "sample_set"):
        yield from standings.differing(round_)
