"""Leaderboards over time: the best scores of a competition, the best teams of a track, and the tables of a team."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from competitions.models import Competition, Entry, Track
from evaluation.charts.lines import LineChart
from leaderboards.history import history_of
from leaderboards.visibility import known_until
from pages import history
from pages.access import competition_of, entry_of
from pages.csv_download import csv_file
from pages.views.errors import missing_page


@require_safe
def show(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Show the best scores of all tracks over time, and the ranks of the best teams of one."""
    competition = competition_of(request, slug)
    track = _track(competition, track_name)
    if competition.format == Competition.Format.TRANSFER:
        return missing_page(
            request,
            gettext("In this format every score is over the current opponents, so there is no history of scores."),
        )
    until = known_until(request.user, competition)
    tracks = list(competition.tracks.select_related("competition"))
    histories = [history_of(each, until) for each in tracks]
    own = next(each for each in histories if each.track == track)
    charts = [
        history.best_scores(histories, until, _address(track, history.BEST)),
        history.best_teams(own, until, _address(track, history.TOP)),
    ]
    context = {
        "competition": competition,
        "tracks": tracks,
        "track": track,
        "charts": [chart for chart in charts if chart],
        "frozen_since": until,
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
    if name == history.BEST:
        tracks = competition.tracks.select_related("competition")
        return history.best_scores([history_of(each, until) for each in tracks], until, _address(track, name))
    return history.best_teams(history_of(track, until), until, _address(track, name)) if name == history.TOP else None


def _address(track: Track, name: str) -> str:
    return reverse("pages:history_table", args=[track.competition.slug, track.name, name])


def _track(competition: Competition, name: str) -> Track:
    found: Track = get_object_or_404(competition.tracks.select_related("competition"), name=name)
    return found
