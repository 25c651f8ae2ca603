"""The gallery of a round."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from pages.access import round_of
from pages.formats import page_formats
from rounds.publishing.pair_visibility import images_seen


@require_safe
def round_gallery(request: HttpRequest, slug: str, number: int, track_name: str) -> HttpResponse:
    """Show the images of a round side by side, to people who see its images now: a release may be withdrawn."""
    shown = round_of(request, slug, number)
    part = page_formats.of(shown.competition)
    tracks = shown.competition.tracks.filter(name__in=part.attack_tracks)
    track = get_object_or_404(tracks, name=track_name)
    if not images_seen(shown, request.user):
        raise Http404("no such page")
    found = part.gallery(request, shown, track)
    context = {
        "competition": shown.competition,
        "tracks": shown.competition.tracks.all(),
        "round": shown,
        "track": track,
        "attack_tracks": tracks,
        **found.context,
    }
    return render(request, found.template, context)
