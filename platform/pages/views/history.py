"""Leaderboards over time: the best scores of a competition, the best teams of a track, and the tables of a team."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from competitions.models import Competition, Entry, Track
from evaluation.charts.lines import LineChart
from leaderboards.selectors import known_until
from pages import history
from pages.access import competition_of, entry_of
from pages.csv_download import csv_file


@require_safe
def show(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Show the best scores of all tracks over time, and the ranks of the best teams of one."""
    competition = competition_of(request, slug)
    track = _track(competition, track_name)
    charts = [chart for name in (history.BEST, history.TOP) if (chart := _chart(request, competition, track, name))]
    context = {
        "competition": competition,
        "tracks": competition.tracks.all(),
        "track": track,
        "charts": charts,
        "frozen_since": known_until(request.user, competition),
    }
    return render(request, "pages/history.html", context)


@require_safe
def table(request: HttpRequest, slug: str, track_name: str, name: str) -> HttpResponse:
    """Return the table of one of these charts as a CSV file."""
    competition = competition_of(request, slug)
    chart = _chart(request, competition, _track(competition, track_name), name)
    if chart is None:
        raise Http404("no such table")
    return csv_file(chart.table, f"{slug}-history-{track_name}-{name}")


@require_safe
def team_table(request: HttpRequest, slug: str, track_name: str, name: str) -> HttpResponse:
    """Return the score or the rank of a team over time as a CSV file."""
    entry = entry_of(request, slug)
    charts = team_charts(request, entry, _track(entry.competition, track_name))
    chart = next((each for each in charts if each.key == f"{name}-{track_name}"), None)
    if chart is None:
        raise Http404("no such table")
    return csv_file(chart.table, f"{slug}-{track_name}-{name}")


def team_charts(request: HttpRequest, entry: Entry, track: Track) -> list[LineChart]:
    """Return the charts of a team for one track, as the user may see them."""
    csv = {
        name: reverse("pages:team_history", args=[entry.team.slug, track.name, name])
        for name in (history.SCORE, history.RANK)
    }
    return list(history.of_team(entry, track, known_until(request.user, entry.competition), csv))


def _chart(request: HttpRequest, competition: Competition, track: Track, name: str) -> LineChart | None:
    until = known_until(request.user, competition)
    csv = reverse("pages:history_table", args=[competition.slug, track.name, name])
    if name == history.BEST:
        tracks = list(competition.tracks.select_related("competition"))
        return history.best_scores(tracks, until, csv)
    return history.best_teams(track, until, csv) if name == history.TOP else None


def _track(competition: Competition, name: str) -> Track:
    found: Track = get_object_or_404(competition.tracks.select_related("competition"), name=name)
    return found
