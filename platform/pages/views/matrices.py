"""The matrices of models and attacks, as pages and as CSV files."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from competitions.models import Competition, Track
from leaderboards.board_views import BoardFreeze
from leaderboards.visibility import frozen_since, sees_live
from pages import matrix
from pages.access import competition_of, round_of
from pages.csv_download import csv_file
from pages.heat_map import HeatMap
from pages.rules_table import scale
from pages.views import transfer
from rounds.models import Round
from rounds.publishing.visibility import pairs_public
from tournaments.selectors import ATTACKING


@require_safe
def competition_matrix(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Show the pairs behind the leaderboards of a competition."""
    competition = competition_of(request, slug)
    if competition.format == Competition.Format.TRANSFER:
        return transfer.matrix(request, _attacks(competition, track_name), list(competition.tracks.all()))
    found = _of_competition(request, competition, track_name)
    rules = competition.rules_versions.first()
    since = None if sees_live(request.user, competition) else frozen_since(competition)
    context = {
        "map": found,
        "scale": scale(rules) if rules else "",
        "frozen": BoardFreeze(since, "") if since else None,
    }
    return _page(request, competition, track_name, "pages:matrix", [slug], context)


@require_safe
def competition_matrix_csv(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Return the matrix of a competition as a CSV file."""
    competition = competition_of(request, slug)
    if competition.format == Competition.Format.TRANSFER:
        return transfer.matrix_csv(request, _attacks(competition, track_name))
    found = _of_competition(request, competition, track_name)
    return csv_file(found.table, f"{slug}-matrix-{track_name}")


def _attacks(competition: Competition, track_name: str) -> Track:
    """Return a track of attacks of the transfer format. Raise 404 for another name."""
    found: Track = get_object_or_404(competition.tracks.filter(name__in=ATTACKING), name=track_name)
    return found


def _of_competition(request: HttpRequest, competition: Competition, track_name: str) -> HeatMap:
    tracks = competition.tracks.select_related("competition")
    attacks = get_object_or_404(tracks.filter(name__in=matrix.ATTACK_TRACKS), name=track_name)
    return matrix.of_competition(get_object_or_404(tracks, name=Track.Name.MODEL), attacks, request.user)


@require_safe
def round_matrix(request: HttpRequest, slug: str, number: int, track_name: str) -> HttpResponse:
    """Show the pairs that the outcome of a round uses."""
    shown = _round(request, slug, number, track_name)
    if shown.competition.format == Competition.Format.TRANSFER:
        tracks = list(shown.competition.tracks.all())
        return transfer.matrix(request, _attacks(shown.competition, track_name), tracks, played=shown)
    context = {
        "map": matrix.of_round(shown, track_name),
        "round": shown,
        "scale": scale(shown.rules) if shown.rules else "",
    }
    return _page(request, shown.competition, track_name, "pages:round_matrix", [slug, number], context)


@require_safe
def round_matrix_csv(request: HttpRequest, slug: str, number: int, track_name: str) -> HttpResponse:
    """Return the matrix of a round as a CSV file."""
    shown = _round(request, slug, number, track_name)
    if shown.competition.format == Competition.Format.TRANSFER:
        return transfer.matrix_csv(request, _attacks(shown.competition, track_name), played=shown)
    found = matrix.of_round(shown, track_name)
    return csv_file(found.table, f"{slug}-round-{number}-matrix-{track_name}")


def _round(request: HttpRequest, slug: str, number: int, track_name: str) -> Round:
    """Return a round whose pairs the user may see. Raise 404 otherwise."""
    shown = round_of(request, slug, number)
    known = shown.state == Round.State.PUBLISHED and pairs_public(shown, request.user)
    if not known or track_name not in (*matrix.ATTACK_TRACKS, *ATTACKING):
        raise Http404("no such page")
    return shown


def _page(
    request: HttpRequest,
    competition: Competition,
    track_name: str,
    address: str,
    place: Sequence[str | int],
    context: dict[str, object],
) -> HttpResponse:
    """Render a matrix; with the name of a track after `place`, `address` is that of its matrix."""
    tracks = list(competition.tracks.all())
    context |= {
        "competition": competition,
        "tracks": tracks,
        "shown": next(track for track in tracks if track.name == track_name),
        "choices": [
            (track, reverse(address, args=[*place, track.name]))
            for track in tracks
            if track.name in matrix.ATTACK_TRACKS
        ],
    }
    return render(request, "pages/matrix.html", context)
