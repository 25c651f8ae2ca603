"""Pictures to share. They show what is public, to everybody who sees the page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from pages.access import competition_of, round_of, track_of
from pages.share.picture import SharePicture, of_board, of_competition, of_round, of_site


@require_safe
def site(request: HttpRequest) -> HttpResponse:
    """Return the picture of pages that have none of their own."""
    return _png(of_site())


@require_safe
def competition(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the picture of a competition."""
    return _png(of_competition(competition_of(request, slug)))


@require_safe
def board(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Return the picture of a leaderboard."""
    return _png(of_board(track_of(request, slug, track_name)))


@require_safe
def round_(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Return the picture of a round."""
    return _png(of_round(round_of(request, slug, number)))


def _png(picture: SharePicture) -> HttpResponse:
    return HttpResponse(picture.png(), content_type="image/png", headers={"Cache-Control": "private, max-age=600"})
