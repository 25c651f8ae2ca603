"""Curves of several submissions on common axes: which ones is in the address."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from competitions.models import Competition, Track
from pages.access import competition_of
from pages.csv_and_svg_downloads import csv_file
from pages.formats import MissingPageError, page_formats
from pages.site.error_views import missing_page


@require_safe
def compare(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Compare submissions: their curves, and their scores side by side."""
    competition, track = _track(request, slug, track_name)
    try:
        found = page_formats.of(competition).curves(request, track)
    except MissingPageError as missing:
        return missing_page(request, str(missing))
    context = {"competition": competition, "tracks": competition.tracks.all(), "track": track, **found.context}
    return render(request, found.template, context)


@require_safe
def compare_csv(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Return the curves of submissions as a CSV file."""
    competition, track = _track(request, slug, track_name)
    table = page_formats.of(competition).curves_table(request, track)
    if table is None:
        raise Http404("no such score")
    return csv_file(table, f"{slug}-curves-{track_name}")


def _track(request: HttpRequest, slug: str, track_name: str) -> tuple[Competition, Track]:
    competition = competition_of(request, slug)
    return competition, get_object_or_404(competition.tracks, name=track_name)
