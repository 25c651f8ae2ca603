"""Curves of several submissions on common axes: which ones is in the address."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from pages.access import track_of
from pages.csv_and_svg_downloads import csv_file
from pages.formats import MissingPageError, page_formats
from pages.site.error_views import missing_page


@require_safe
def compare(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Compare submissions: their curves, and their scores side by side."""
    track = track_of(request, slug, track_name)
    competition = track.competition
    try:
        found = page_formats.of(competition).curves(request, track)
    except MissingPageError as missing:
        return missing_page(request, str(missing))
    context = {"competition": competition, "tracks": competition.tracks.all(), "track": track, **found.context}
    return render(request, found.template, context)


@require_safe
def compare_csv(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Return the curves of submissions as a CSV file."""
    track = track_of(request, slug, track_name)
    table = page_formats.of(track.competition).curves_table(request, track)
    if table is None:
        raise Http404("no such score")
    return csv_file(table, f"{slug}-curves-{track_name}")
