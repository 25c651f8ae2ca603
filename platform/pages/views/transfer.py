"""Pages of the transfer format: leaderboards, and the matrix of attacks and defences with its pairs, also of rounds."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from competitions.models import Competition, Track
from competitions.selectors import may_organise
from core.resolution import shares_separated
from evaluation.charts.axis import axis_to
from evaluation.domain.transfer_rules import Opponents
from leaderboards.board_views import BoardFreeze
from leaderboards.visibility import frozen_since, sees_live
from pages import polling
from pages.access import competition_of, own_teams, round_of
from pages.csv_download import csv_file
from pages.transfer_board import csv_of
from pages.transfer_matrix import ShareMap, matrix_address, share_map
from pages.transfer_pair import PairPage, pair_page
from rounds.match_visibility import class_errors_seen, images_seen, pairs_public
from rounds.models import Release, Round
from rounds.release import released
from rounds.transfer_progression import tournament_of
from tournaments.boards import Board, board_of, tournament_in_force
from tournaments.models import Tournament
from tournaments.rules import transfer_rules
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
        "axis": axis_to(1.0),
        "separation": _separation(found),
        "own": {team.slug for team in own_teams(request)},
        "complete": _only_complete_count(shown),
        "matrix_track": track.name if track.name in ATTACKING else Track.Name.ATTACK,
    }
    framed = polling.live_part(request, "pages/parts/transfer_board.html", context, every=BOARD_EVERY)
    if polling.is_poll(request):
        return polling.answer(request, framed)
    return render(request, "pages/transfer_board.html", context | {"live_board": framed.html, "tracks": tracks})


def _separation(found: Board) -> str:
    """Return what the images of a leaderboard separate."""
    ranked = [(row.score, row.rank_low) for row in found.rows if row.score is not None and row.rank_low is not None]
    return shares_separated(ranked, found.images)


def _only_complete_count(competition: Competition) -> bool:
    """Return whether only opponents count that processed every image, under the rules in force."""
    rules = competition.rules_versions.first()
    return rules is not None and transfer_rules(rules).opponents == Opponents.COMPLETE


def board_csv(request: HttpRequest, track: Track) -> HttpResponse:
    """Return the whole leaderboard of a track as CSV, without rows while it is hidden."""
    found = Board() if freeze_of(request, track.competition) else board_of(track)
    name = f"{track.competition.slug}-{track.name}.csv"
    headers = {"Content-Disposition": content_disposition_header(as_attachment=True, filename=name) or ""}
    return HttpResponse(csv_of(found.rows), content_type="text/csv; charset=utf-8", headers=headers)


def matrix(request: HttpRequest, track: Track, tracks: Sequence[Track], *, played: Round | None = None) -> HttpResponse:
    """Show every attack of a track against every defence, over all batches or those of `?epsilon=`.

    They are those of the leaderboards, or of the round `played`, whose pairs the user may see.
    """
    competition = track.competition
    context = {
        "competition": competition,
        "tracks": tracks,
        "shown": track,
        "round": played,
        "choices": [(each, matrix_address(competition, played, each)) for each in tracks if each.name in ATTACKING],
        "map": _map(request, track, played),
        "frozen": None if played else freeze_of(request, competition),
    }
    return render(request, "pages/transfer_matrix.html", context)


def matrix_csv(request: HttpRequest, track: Track, *, played: Round | None = None) -> HttpResponse:
    """Return the matrix as a CSV file: a row for each pair."""
    found = _map(request, track, played)
    of = f"{track.competition.slug}-round-{played.number}" if played else track.competition.slug
    epsilon = f"-epsilon-{found.epsilon}" if found.epsilon else ""
    return csv_file(found.table, f"{of}-matrix-{track.name}{epsilon}")


@require_safe
def pair(request: HttpRequest, slug: str, attack: int, defence: int) -> HttpResponse:
    """Show an attack against a defence: counts by epsilon, its runs, and for organisers the errors by class."""
    shown = competition_of(request, slug)
    organises = may_organise(request.user, shown)
    tournament = None if freeze_of(request, shown) else tournament_in_force(shown)
    found = _pair(request, tournament, attack, defence, others=organises, errors=organises)
    return render(request, "pages/transfer_pair.html", _pair_context(shown, found) | {"for_organisers": True})


@require_safe
def round_pair(request: HttpRequest, slug: str, number: int, attack: int, defence: int) -> HttpResponse:
    """Show a pair of a published round, with the errors by class once its bundle is released."""
    shown = round_of(request, slug, number)
    known = shown.state == Round.State.PUBLISHED and pairs_public(shown, request.user)
    if not known or shown.competition.format != Competition.Format.TRANSFER:
        raise Http404("no such pair")
    errors = class_errors_seen(shown, request.user)
    found = _pair(request, tournament_of(shown), attack, defence, others=False, errors=errors)
    context = {
        "round": shown,
        "images": images_seen(shown, request.user),
        "for_organisers": Release.Part.BUNDLE not in released(shown),
    }
    return render(request, "pages/transfer_pair.html", _pair_context(shown.competition, found) | context)


def _pair(
    request: HttpRequest, tournament: Tournament | None, attack: int, defence: int, *, others: bool, errors: bool
) -> PairPage:
    """Return a pair of a tournament. Raise 404 where it has none."""
    page = request.GET.get("page", "")
    found = pair_page(tournament, attack, defence, others=others, errors=errors, page=page) if tournament else None
    if found is None:
        raise Http404("no such pair")
    return found


def _pair_context(competition: Competition, found: PairPage) -> dict[str, object]:
    return {"competition": competition, "tracks": competition.tracks.all(), "pair": found}


def freeze_of(request: HttpRequest, competition: Competition) -> BoardFreeze | None:
    """Return the freeze that hides the scores of a competition from the user; None if they are shown."""
    since = None if sees_live(request.user, competition) else frozen_since(competition)
    return BoardFreeze(since, "") if since else None


def _map(request: HttpRequest, track: Track, played: Round | None) -> ShareMap:
    """Return the matrix that the user sees. Raise 404 for an epsilon that no batch has."""
    text = request.GET.get("epsilon", "")
    hidden = played is None and freeze_of(request, track.competition) is not None
    found = share_map(track, text, hidden=hidden, played=played)
    if found is None:
        raise Http404("no batch has this epsilon")
    return found
