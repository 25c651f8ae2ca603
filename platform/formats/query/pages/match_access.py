"""Access to the page of a match."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from formats.query.matches.models import Match
from formats.query.rounds.match_visibility import Sight, sight_of
from pages.access import check_visible


def match_of(request: HttpRequest, number: int) -> tuple[Match, Sight]:
    """Return a match with what the user sees of it. Raise 404 where that is nothing."""
    players = [f"{side}__repository__{name}" for side in ("model", "attack") for name in ("entry__team", "track")]
    related = (
        "rules__competition__frozen_leaderboards",
        "sample_set",
        "round_match__round__window",
        "round_match__round__competition__frozen_leaderboards",
    )
    match = get_object_or_404(Match.objects.select_related(*related, *players), pk=number)
    check_visible(request, match.rules.competition)
    sight = sight_of(match, request.user)
    if sight is None:
        raise Http404("no such page")
    return match, sight
