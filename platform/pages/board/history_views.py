"""Leaderboards over time: those of a competition, and the standing of a team."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from competitions.models import Entry, Track
from evaluation.charts.line_chart import LineChart
from pages.access import entry_of, track_of
from pages.csv_and_svg_downloads import csv_file, svg_download
from pages.formats import MissingPageError, page_formats
from pages.shared_pages import shared
from pages.site.error_views import missing_page


@require_safe
@shared
def show(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Show the leaderboards of a competition over time."""
    track = track_of(request, slug, track_name)
    competition = track.competition
    try:
        found = page_formats.of(competition).history(request, track)
    except MissingPageError as missing:
        return missing_page(request, str(missing))
    context = {"competition": competition, "tracks": competition.tracks.all(), "track": track, **found.context}
    return render(request, found.template, context)


@require_safe
def table(request: HttpRequest, slug: str, track_name: str, name: str) -> HttpResponse:
    """Return the table of one of these charts as a CSV file."""
    return csv_file(_chart(request, slug, track_name, name).table, f"{slug}-history-{track_name}-{name}")


@require_safe
def drawing(request: HttpRequest, slug: str, track_name: str, name: str) -> HttpResponse:
    """Return one of these charts as an SVG file."""
    return svg_download(_chart(request, slug, track_name, name), f"{slug}-history-{track_name}-{name}")


def _chart(request: HttpRequest, slug: str, track_name: str, name: str) -> LineChart:
    track = track_of(request, slug, track_name)
    found = page_formats.of(track.competition).history_chart(request, track, name)
    if found is None:
        raise Http404("no such chart")
    return found


@require_safe
def team_table(request: HttpRequest, slug: str, track_name: str, name: str) -> HttpResponse:
    """Return the score or the rank of a team over time as a CSV file."""
    entry = entry_of(request, slug)
    charts = team_charts(request, entry, get_object_or_404(entry.competition.tracks, name=track_name))
    chart = next((each for each in charts if each.key == f"{name}-{track_name}"), None)
    if chart is None:
        raise Http404("no such table")
    return csv_file(chart.table, f"{slug}-{track_name}-{name}")


def team_charts(request: HttpRequest, entry: Entry, track: Track) -> Sequence[LineChart]:
    """Return the charts of a team for one track, as the user may see them."""
    return page_formats.of(entry.competition).team_history(entry, track, request.user)
