"""The leaderboard of a track, as a page and as CSV."""

from __future__ import annotations

from datetime import UTC, datetime, time

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from competitions.models import Competition, Track
from competitions.rules import teams_may_choose
from core import clock
from core.errors import Refusal
from core.resolution import distances_separated
from evaluation.charts.axis import axis_to
from leaderboards import visibility
from leaderboards.board_views import BoardPage, view_of
from leaderboards.evaluation_basis import opposing_pool, ranking_basis
from leaderboards.selection_effect import luck_on
from leaderboards.visibility import sees_live, whole_board
from matches.rules import query_rules
from pages import curve_page, flash_messages, polling
from pages.access import competition_of, own_teams
from pages.board_table import csv_of, headings
from pages.history import sparklines
from pages.rules_table import scale
from pages.selectors import pool_line
from pages.views import transfer

BOARD_EVERY = 10

_VIEW = {"sort": "sort", "text": "q", "show": "show"}
"""Names of the parameters of a view in the address."""

_FIRST_YEAR = 1970
"""Times before it are no times of a leaderboard, and the first ones cannot be written in every zone."""


@require_safe
def board(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Show the leaderboard of a track, 50 rows on a page.

    It can be sorted (`?sort=-score`), searched (`?q=`), filtered (`?show=`), and shown as of a past time (`?at=`).
    """
    shown, track, tracks = _track_of(request, slug, track_name)
    if shown.format == Competition.Format.TRANSFER:
        return transfer.board(request, track, tracks)
    problem = ""
    try:
        at = _past_time(request)
    except Refusal as refusal:
        at, problem = None, flash_messages.refusal_text(refusal)
    view = view_of(**{name: request.GET.get(key, "") for name, key in _VIEW.items()})
    basis = ranking_basis(track)
    frozen = not sees_live(request.user, shown)
    page = visibility.board(track, request.GET.get("page", "1"), frozen=frozen, basis=basis, view=view, at=at)
    rules = basis.rules if basis else shown.rules_versions.first()
    line = rules and view.whole and pool_line(page, query_rules(rules).opponents)
    until = page.frozen.since if page.frozen else page.at
    context = {
        "competition": shown,
        "track": track,
        "models": track.name == Track.Name.MODEL,
        "columns": 10 + (track.name == Track.Name.MODEL) + (page.at is None),
        "board": page,
        "view": view,
        "heads": headings(view, track.name),
        "rules_in_force": rules.version if rules else None,
        "teams_choose": rules is not None and teams_may_choose(rules.values),
        "pool_in_force": basis.pool.number if basis else None,
        "scale": scale(rules) if rules else "",
        "line": line,
        "separation": _separation(page) if view.whole else "",
        "axis": axis_to(page.highest),
        "most_compared": curve_page.MOST,
        "own": {team.slug for team in own_teams(request)},
        "sparklines": sparklines(track, page.rows, until),
        "luck": luck_on(track, [row.team_slug for row in page.rows], until=until),
        "pool_missing": not page.teams and basis is None and opposing_pool(track) is None,
    }
    every = None if page.at else BOARD_EVERY
    framed = polling.live_part(request, "pages/parts/board.html", context, every=every)
    if polling.is_poll(request):
        return polling.answer(request, framed)
    context |= {"live_board": framed.html, "tracks": tracks, "problem": problem}
    return render(request, "pages/board.html", context, status=400 if problem else 200)


def _separation(page: BoardPage) -> str:
    """Return what the samples of a leaderboard separate, on its first page."""
    compared = [row for row in page.rows if row.rank_low is not None] if page.number == 1 else []
    ranked = [(row.value, row.rank_low) for row in compared if row.rank_low is not None]
    return distances_separated(ranked, compared[0].samples) if compared else ""


@require_safe
def board_csv(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Return the whole leaderboard of a track as CSV, now or at a past time (`?at=`)."""
    shown, track, _ = _track_of(request, slug, track_name)
    if shown.format == Competition.Format.TRANSFER:
        return transfer.board_csv(request, track)
    try:
        at = _past_time(request)
    except Refusal as refusal:
        text = flash_messages.refusal_text(refusal)
        return HttpResponse(f"{text}\n", status=400, content_type="text/plain; charset=utf-8")
    _, rows, _ = whole_board(track, frozen=not sees_live(request.user, shown), at=at)
    disposition = content_disposition_header(as_attachment=True, filename=f"{slug}-{track_name}.csv")
    headers = {"Content-Disposition": disposition}
    return HttpResponse(csv_of(rows), content_type="text/csv; charset=utf-8", headers=headers)


def _track_of(request: HttpRequest, slug: str, track_name: str) -> tuple[Competition, Track, list[Track]]:
    shown = competition_of(request, slug)
    tracks = list(shown.tracks.all())
    track = next((track for track in tracks if track.name == track_name), None)
    if track is None:
        raise Http404("no such track")
    return shown, track, tracks


def _past_time(request: HttpRequest) -> datetime | None:
    """Return the time `?at=`, in UTC if it names no zone; None without one and for times to come."""
    text = request.GET.get("at", "").strip()
    if not text:
        return None
    try:
        day = parse_date(text)
        at = datetime.combine(day, time()) if day else parse_datetime(text)
    except ValueError:
        at = None
    if at is None or at.year < _FIRST_YEAR:
        raise Refusal(f"the time {text} cannot be read", fix="write it as 2026-11-23 or 2026-11-23T12:00Z")
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at if at < clock.now() else None
