"""Curves of several submissions or matches on common axes: which ones is in the address."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from competitions.models import Competition, Track
from evaluation.charts.of_match import BUDGETS, SUCCESS
from formats.query.rounds.match_visibility import Sight
from leaderboards.visibility import board, sees_live
from matches.models import Match
from pages import curve_page
from pages.access import competition_of, match_of
from pages.comparison import side_by_side
from pages.csv_download import csv_file
from pages.views.errors import missing_page

CHOICES = 30
"""Number of submissions to choose from: the best of the leaderboard."""

SHOWN_FIRST = 3
"""Number of submissions that are compared before anybody has chosen."""


@require_safe
def compare(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Compare submissions: success against distance, and their scores side by side."""
    competition, track = _track(request, slug, track_name)
    if competition.format == Competition.Format.TRANSFER:
        return missing_page(request, gettext("In this format there are no distances, so there are no curves."))
    frozen = not sees_live(request.user, competition)
    rows = board(track, frozen=frozen, page_rows=CHOICES).rows
    numbers = request.GET.getlist("submission")
    wanted = curve_page.first_of(numbers)
    found = curve_page.newest(track, wanted or [row.submission for row in rows[:SHOWN_FIRST]], request.user)
    csv = _with(reverse("pages:curves_csv", args=[slug, track_name]), "submission", list(found))
    on_board = {row.submission for row in rows}
    context = {
        "competition": competition,
        "tracks": competition.tracks.all(),
        "track": track,
        "models": track.name == Track.Name.MODEL,
        "chart": curve_page.of_submissions(track, found, csv),
        "comparison": side_by_side(track, list(found.values()), frozen=frozen),
        "rows": rows,
        "others": [each for pk, each in found.items() if pk not in on_board],
        "chosen": found,
        "wanted": wanted,
        "missing": [pk for pk in wanted if pk not in found],
        "left_out": curve_page.left_out(numbers),
        "most": curve_page.MOST,
    }
    return render(request, "pages/curves.html", context)


@require_safe
def compare_csv(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Return the curves of submissions as a CSV file."""
    _, track = _track(request, slug, track_name)
    chosen = curve_page.first_of(request.GET.getlist("submission"))
    chart = curve_page.of_submissions(track, curve_page.newest(track, chosen, request.user), "")
    if chart is None:
        raise Http404("no such score")
    return csv_file(chart.table, f"{slug}-curves-{track_name}")


@require_safe
def compare_matches(request: HttpRequest, slug: str) -> HttpResponse:
    """Compare matches: success against distance, and against queries where this is public."""
    competition = competition_of(request, slug)
    if competition.format == Competition.Format.TRANSFER:
        return missing_page(request, gettext("In this format there are no matches, so there are no curves."))
    context = {
        "competition": competition,
        "tracks": competition.tracks.all(),
        "found": _matches(request, competition),
    }
    return render(request, "pages/match_curves.html", context)


@require_safe
def compare_matches_csv(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Return curves of matches as a CSV file: against distance or against queries."""
    found = _matches(request, competition_of(request, slug))
    chart = {SUCCESS: found.success, BUDGETS: found.queries}.get(name)
    if chart is None:
        raise Http404("no such table")
    return csv_file(chart.table, f"{slug}-match-curves-{name}")


def _track(request: HttpRequest, slug: str, track_name: str) -> tuple[Competition, Track]:
    competition = competition_of(request, slug)
    return competition, get_object_or_404(competition.tracks.select_related("competition"), name=track_name)


def _matches(request: HttpRequest, competition: Competition) -> curve_page.MatchCurves:
    chosen = curve_page.first_of(request.GET.getlist("match"))
    shown: list[tuple[Match, Sight]] = []
    for number in chosen:
        match, sight = match_of(request, number)
        if match.rules.competition_id != competition.pk:
            raise Http404("no such match")
        shown.append((match, sight))
    try:
        distance = float(request.GET.get("distance", ""))
    except ValueError:
        distance = 0.0
    csv = {
        name: _with(reverse("pages:match_curves_csv", args=[competition.slug, name]), "match", chosen, distance)
        for name in (SUCCESS, BUDGETS)
    }
    return curve_page.of_matches(shown, distance if distance > 0 else None, csv)


def _with(address: str, name: str, chosen: list[int], distance: float = 0.0) -> str:
    given = [(name, str(number)) for number in chosen] + ([("distance", f"{distance:g}")] if distance > 0 else [])
    return f"{address}?{urlencode(given)}"
