"""Pages of competitions of the transfer format: leaderboards, the matrix of attacks and defences, and its pairs."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from competitions.models import Competition, Track
from competitions.selectors import may_organise
from leaderboards.board_views import BoardFreeze
from leaderboards.visibility import frozen_since, sees_live
from pages import polling
from pages.access import competition_of, own_teams
from pages.csv_download import csv_file
from pages.transfer_board import csv_of
from pages.transfer_matrix import ShareMap, share_map
from pages.transfer_pair import pair_page
from tournaments.boards import Board, board_of
from tournaments.selectors import ATTACKING

BOARD_EVERY = 10


def board(request: HttpRequest, track: Track, tracks: Sequence[Track]) -> HttpResponse:
    """Show the leaderboard of a track: who counts, and who is being evaluated."""
    shown = track.competition
    freeze = freeze_of(request, shown)
    found = Board() if freeze else board_of(track)
    context = {
        "competition": shown,
        "track": track,
        "targeted": track.name == Track.Name.TARGETED_ATTACK,
        "defending": track.name == Track.Name.DEFENCE,
        "board": found,
        "frozen": freeze,
        "own": {team.slug for team in own_teams(request)},
        "matrix_track": track.name if track.name in ATTACKING else Track.Name.ATTACK,
    }
    framed = polling.live_part(request, "pages/parts/transfer_board.html", context, every=BOARD_EVERY)
    if polling.is_poll(request):
        return polling.answer(request, framed)
    return render(request, "pages/transfer_board.html", context | {"live_board": framed.html, "tracks": tracks})


def board_csv(request: HttpRequest, track: Track) -> HttpResponse:
    """Return the whole leaderboard of a track as CSV, without rows while it is hidden."""
    found = Board() if freeze_of(request, track.competition) else board_of(track)
    name = f"{track.competition.slug}-{track.name}.csv"
    headers = {"Content-Disposition": content_disposition_header(as_attachment=True, filename=name) or ""}
    return HttpResponse(csv_of(found.rows), content_type="text/csv; charset=utf-8", headers=headers)


def matrix(request: HttpRequest, track: Track, tracks: Sequence[Track]) -> HttpResponse:
    """Show every attack of a track against every defence, over all batches or those of `?epsilon=`."""
    context = {
        "competition": track.competition,
        "tracks": tracks,
        "shown": track,
        "choices": [each for each in tracks if each.name in ATTACKING],
        "map": _map(request, track),
        "frozen": freeze_of(request, track.competition),
    }
    return render(request, "pages/transfer_matrix.html", context)


def matrix_csv(request: HttpRequest, track: Track) -> HttpResponse:
    """Return the matrix as a CSV file: a row for each pair."""
    found = _map(request, track)
    epsilon = f"-epsilon-{found.epsilon}" if found.epsilon else ""
    return csv_file(found.table, f"{track.competition.slug}-matrix-{track.name}{epsilon}")


@require_safe
def pair(request: HttpRequest, slug: str, attack: int, defence: int) -> HttpResponse:
    """Show an attack against a defence: counts by epsilon, its runs, and for organisers the errors by class."""
    shown = competition_of(request, slug)
    organises = may_organise(request.user, shown)
    found = None if freeze_of(request, shown) else pair_page(shown, attack, defence, organises=organises)
    if found is None:
        raise Http404("no such pair")
    context = {"competition": shown, "tracks": shown.tracks.all(), "pair": found}
    return render(request, "pages/transfer_pair.html", context)


def freeze_of(request: HttpRequest, competition: Competition) -> BoardFreeze | None:
    """Return the freeze that hides the scores of a competition from the user; None if they are shown."""
    since = None if sees_live(request.user, competition) else frozen_since(competition)
    return BoardFreeze(since, "") if since else None


def _map(request: HttpRequest, track: Track) -> ShareMap:
    """Return the matrix that the user sees. Raise 404 for an epsilon that no batch has."""
    text = request.GET.get("epsilon", "")
    found = share_map(track, text, hidden=freeze_of(request, track.competition) is not None)
    if found is None:
        raise Http404("no batch has this epsilon")
    return found
