"""The gallery of a round."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from pages.access import round_of
from pages.matrix import ATTACK_TRACKS
from pages.round_gallery import View
from pages.round_gallery import round_gallery as gallery_of
from pages.rules_table import scale
from rounds.match_visibility import images_seen


@require_safe
def round_gallery(request: HttpRequest, slug: str, number: int, track_name: str) -> HttpResponse:
    """Show the perturbations of a round side by side, to people who see its images now: a release may be withdrawn."""
    shown = round_of(request, slug, number)
    tracks = shown.competition.tracks.filter(name__in=ATTACK_TRACKS)
    track = get_object_or_404(tracks, name=track_name)
    if not images_seen(shown, request.user):
        raise Http404("no such page")
    given = {name: request.GET.get(name, "") for name in ("view", "page")}
    found = gallery_of(
        shown, track_name, **given, chosen=request.GET.get("with", ""), factor=request.GET.get("amplify", "")
    )
    context = {
        "competition": shown.competition,
        "tracks": shown.competition.tracks.all(),
        "round": shown,
        "track": track,
        "attack_tracks": tracks,
        "views": View.choices,
        "gallery": found,
        "scale": scale(shown.rules) if shown.rules else "",
    }
    return render(request, "pages/round_gallery.html", context)
