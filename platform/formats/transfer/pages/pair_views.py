"""Pages of an attack against a defence, and the pictures of what it made."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from competitions.models import Competition
from competitions.permissions import may
from core.picture_answers import picture_answer
from core.roles import Right
from formats.transfer import NAME
from formats.transfer.pages.pair_page_data import PairPage, pair_page
from formats.transfer.rounds.class_error_visibility import class_errors_seen
from formats.transfer.rounds.released_pictures import round_picture
from formats.transfer.rounds.round_advancement import frozen_tournament
from formats.transfer.tournaments.boards import tournament_in_force
from formats.transfer.tournaments.models import Tournament
from pages.access import competition_of, round_of
from pages.board.freeze_notice import freeze_of
from pages.round.shown_objections import objection_address
from rounds.models import Release, Round
from rounds.publishing.pair_visibility import images_seen, pairs_public
from rounds.release.released_parts import released


@require_safe
def pair(request: HttpRequest, slug: str, attack: int, defence: int) -> HttpResponse:
    """Show an attack against a defence: counts by epsilon, its runs, and for organisers the errors by class."""
    shown = competition_of(request, slug)
    organises = may(request.user, shown, Right.SEE_SECRETS)
    tournament = None if freeze_of(shown, request.user) else tournament_in_force(shown)
    found = _pair(request, tournament, attack, defence, others=organises, errors=organises)
    return render(request, "formats/transfer/pair.html", _pair_context(shown, found) | {"for_organisers": True})


@require_safe
def round_pair(request: HttpRequest, slug: str, number: int, attack: int, defence: int) -> HttpResponse:
    """Show a pair of a published round, with the errors by class once its bundle is released."""
    shown = round_of(request, slug, number)
    known = shown.state == Round.State.PUBLISHED and pairs_public(shown, request.user)
    if not known or shown.competition.format != NAME:
        raise Http404("no such pair")
    errors = class_errors_seen(shown, request.user)
    found = _pair(request, frozen_tournament(shown), attack, defence, others=False, errors=errors)
    context = {
        "round": shown,
        "images": images_seen(shown, request.user),
        "for_organisers": Release.Part.BUNDLE not in released(shown),
        "objection_url": objection_address(request, shown, f"{attack}/{defence}"),
    }
    return render(request, "formats/transfer/pair.html", _pair_context(shown.competition, found) | context)


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


@require_safe
def round_image(request: HttpRequest, slug: str, number: int, attack: int, sample: int, name: str) -> HttpResponse:
    """Return a picture of what an attack made of a sample in a round, as PNG.

    For people who see all images of the round now: a release may be withdrawn, or the attack hidden.
    """
    shown = round_of(request, slug, number)
    if shown.competition.format != NAME:
        raise Http404("no such picture")
    return picture_answer(lambda: round_picture(shown, attack, sample, name, request.user))
