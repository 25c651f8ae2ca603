"""The leaderboard of a track, as a page and as CSV."""

from __future__ import annotations

from http import HTTPStatus

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from competitions.models import Competition, Track
from core.errors import Refusal
from pages import flash_messages, polling
from pages.access import competition_of, own_teams
from pages.csv_and_svg_downloads import csv_file
from pages.formats import page_formats
from pages.shared_pages import shared


@require_safe
@shared
def board(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Show the leaderboard of a track, or the part of it that the address asks for."""
    competition, track, tracks = _track_of(request, slug, track_name)
    shown = page_formats.of(competition).board(request, track)
    context = {
        "competition": competition,
        "track": track,
        "own": {team.slug for team in own_teams(request)},
        **shown.context,
    }
    framed = polling.live_part(request, shown.live, context, every=shown.every)
    if polling.is_poll(request):
        return polling.answer(request, framed)
    context |= {"live_board": framed.html, "tracks": tracks}
    return render(request, shown.template, context, status=shown.status)


@require_safe
@shared
def board_csv(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Return the whole leaderboard of a track as CSV."""
    competition, track, _ = _track_of(request, slug, track_name)
    try:
        table = page_formats.of(competition).board_table(request, track)
    except Refusal as refusal:
        text = flash_messages.refusal_text(refusal)
        return HttpResponse(f"{text}\n", status=HTTPStatus.BAD_REQUEST, content_type="text/plain; charset=utf-8")
    return csv_file(table, f"{slug}-{track_name}")


def _track_of(request: HttpRequest, slug: str, track_name: str) -> tuple[Competition, Track, list[Track]]:
    shown = competition_of(request, slug)
    tracks = list(shown.tracks.all())
    track = next((track for track in tracks if track.name == track_name), None)
    if track is None:
        raise Http404("no such track")
    return shown, track, tracks
