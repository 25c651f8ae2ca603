"""The gallery of a round."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from competitions.models import Competition, Track
from core.errors import Refusal
from formats.transfer.rounds.progression import tournament_of
from pages.access import round_of
from pages.matrix import ATTACK_TRACKS
from pages.round_gallery import View
from pages.round_gallery import round_gallery as gallery_of
from pages.rules_table import scale
from pages.transfer_gallery import transfer_gallery
from rounds.models import Round
from rounds.publishing.visibility import images_seen
from tournaments.pictures import picture
from tournaments.selectors import ATTACKING


@require_safe
def round_gallery(request: HttpRequest, slug: str, number: int, track_name: str) -> HttpResponse:
    """Show the perturbations of a round side by side, to people who see its images now: a release may be withdrawn."""
    shown = round_of(request, slug, number)
    transfer = shown.competition.format == Competition.Format.TRANSFER
    tracks = shown.competition.tracks.filter(name__in=ATTACKING if transfer else ATTACK_TRACKS)
    track = get_object_or_404(tracks, name=track_name)
    if not images_seen(shown, request.user):
        raise Http404("no such page")
    context = {
        "competition": shown.competition,
        "tracks": shown.competition.tracks.all(),
        "round": shown,
        "track": track,
        "attack_tracks": tracks,
        **(_of_transfer(request, shown, track) if transfer else _of_query(request, shown, track)),
    }
    return render(request, f"pages/{'transfer' if transfer else 'round'}_gallery.html", context)


def _of_query(request: HttpRequest, shown: Round, track: Track) -> dict[str, Any]:
    given = {name: request.GET.get(name, "") for name in ("view", "page")}
    found = gallery_of(
        shown, track.name, **given, chosen=request.GET.get("with", ""), factor=request.GET.get("amplify", "")
    )
    return {"views": View.choices, "gallery": found, "scale": scale(shown.rules) if shown.rules else ""}


def _of_transfer(request: HttpRequest, shown: Round, track: Track) -> dict[str, Any]:
    chosen, factor, page = (request.GET.get(name, "") for name in ("with", "amplify", "page"))
    return {"gallery": transfer_gallery(shown, track, chosen=chosen, factor=factor, page=page)}


@require_safe
def round_image(request: HttpRequest, slug: str, number: int, attack: int, sample: int, name: str) -> HttpResponse:
    """Return a picture of what an attack made of a sample in a round of the transfer format, as PNG.

    For people who see all images of the round now: a release may be withdrawn.
    """
    shown = round_of(request, slug, number)
    if shown.competition.format != Competition.Format.TRANSFER or not images_seen(shown, request.user):
        raise Http404("no such picture")
    try:
        content = picture(tournament_of(shown), attack, sample, name)
    except Refusal as refusal:
        raise Http404(refusal.problem) from refusal
    return HttpResponse(content, content_type="image/png", headers={"Cache-Control": "private, max-age=600"})
