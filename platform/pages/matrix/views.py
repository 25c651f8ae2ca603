"""The matrices of attacks and the other side, as pages and as CSV files."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from competitions.models import Competition, Track
from pages.access import competition_of, round_of
from pages.board.freeze_notice import freeze_of
from pages.csv_and_svg_downloads import csv_file
from pages.formats import page_formats
from pages.matrix.heat_map import matrix_address
from pages.shared_pages import shared
from rounds.models import Round
from rounds.publishing.pair_visibility import pairs_public


@require_safe
@shared
def competition_matrix(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Show the pairs behind the leaderboards of a competition."""
    return _page(request, _attacks(competition_of(request, slug), track_name))


@require_safe
@shared
def competition_matrix_csv(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Return the matrix of a competition as a CSV file."""
    return _csv(request, _attacks(competition_of(request, slug), track_name))


@require_safe
@shared
def round_matrix(request: HttpRequest, slug: str, number: int, track_name: str) -> HttpResponse:
    """Show the pairs that the outcome of a round uses."""
    played = _round(request, slug, number)
    return _page(request, _attacks(played.competition, track_name), played)


@require_safe
@shared
def round_matrix_csv(request: HttpRequest, slug: str, number: int, track_name: str) -> HttpResponse:
    """Return the matrix of a round as a CSV file."""
    played = _round(request, slug, number)
    return _csv(request, _attacks(played.competition, track_name), played)


def _attacks(competition: Competition, track_name: str) -> Track:
    """Return a track of attacks. Raise 404 for another name."""
    tracks = competition.tracks.filter(name__in=page_formats.of(competition).attack_tracks)
    found: Track = get_object_or_404(tracks, name=track_name)
    return found


def _round(request: HttpRequest, slug: str, number: int) -> Round:
    """Return a round whose pairs the user may see. Raise 404 otherwise."""
    shown = round_of(request, slug, number)
    if shown.state != Round.State.PUBLISHED or not pairs_public(shown, request.user):
        raise Http404("no such page")
    return shown


def _page(request: HttpRequest, attacks: Track, played: Round | None = None) -> HttpResponse:
    competition = attacks.competition
    part = page_formats.of(competition)
    found = part.matrix(request, attacks, played)
    tracks = list(competition.tracks.all())
    context = {
        "competition": competition,
        "tracks": tracks,
        "shown": attacks,
        "round": played,
        "choices": [
            (each, f"{matrix_address(each, played)}{found.chosen}")
            for each in tracks
            if each.name in part.attack_tracks
        ],
        "map": found.map,
        "frozen": None if played else freeze_of(competition, request.user),
        **found.context,
    }
    return render(request, found.template, context)


def _csv(request: HttpRequest, attacks: Track, played: Round | None = None) -> HttpResponse:
    competition = attacks.competition
    found = page_formats.of(competition).matrix(request, attacks, played)
    of = f"{competition.slug}-round-{played.number}" if played else competition.slug
    return csv_file(found.map.table, f"{of}-matrix-{attacks.name}{found.suffix}")
