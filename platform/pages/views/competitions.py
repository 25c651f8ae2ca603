"""The pages of a competition: what it is, its rules, its boards."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.selectors import teams_of
from competitions.models import Track
from competitions.rules import query_rules
from core import clock
from leaderboards import selectors as leaderboards
from pages import polling
from pages.access import competition_of
from pages.calendar import calendar
from pages.chart_axis import axis_to
from pages.rules_difference import differences
from pages.rules_table import rows, scale
from pages.selectors import cards, line_below, own_entry, pools

BOARD_EVERY = 10


@require_safe
def competition(request: HttpRequest, slug: str) -> HttpResponse:
    """What a competition is about and how it stands."""
    shown = competition_of(request, slug)
    rules = shown.rules_versions.first()
    tracks = shown.tracks.all()
    context = {
        "competition": shown,
        "cards": cards(shown, request.user),
        "tracks": tracks,
        "has_baselines": any(track.baselines for track in tracks),
        "rules": rules,
        "rows": rows(rules) if rules else [],
        "pools": pools(shown),
        "calendar": calendar(shown),
        "own": own_entry(request.user, shown),
        "open": clock.now() < shown.ends_at,
    }
    return render(request, "pages/competition.html", context)


@require_safe
def rules(request: HttpRequest, slug: str) -> HttpResponse:
    """The rules in force and every version before them."""
    shown = competition_of(request, slug)
    made = list(shown.rules_versions.all())
    versions = [
        (version, rows(version), made[place + 1].version if place + 1 < len(made) else None)
        for place, version in enumerate(made)
    ]
    context = {"competition": shown, "tracks": shown.tracks.all(), "versions": versions}
    return render(request, "pages/rules.html", context)


@require_safe
def rules_difference(request: HttpRequest, slug: str, old: int, new: int) -> HttpResponse:
    """What differs between two versions of the rules, whichever is the older one."""
    shown = competition_of(request, slug)
    before = get_object_or_404(shown.rules_versions, version=old)
    after = get_object_or_404(shown.rules_versions, version=new)
    found = differences(before, after)
    context = {
        "competition": shown,
        "tracks": shown.tracks.all(),
        "old": before,
        "new": after,
        "differ": [row for row in found if row.kind != "unchanged"],
        "same": [row for row in found if row.kind == "unchanged"],
    }
    return render(request, "pages/rules_difference.html", context)


@require_safe
def board(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """A track's leaderboard, a hundred rows a page."""
    shown = competition_of(request, slug)
    track = get_object_or_404(Track.objects.select_related("competition"), competition=shown, name=track_name)
    still = not leaderboards.sees_live(request.user, shown)
    basis = leaderboards.ranking_basis(track)
    page = leaderboards.board(track, request.GET.get("page", "1"), frozen=still, basis=basis)
    rules = basis.rules if basis else shown.rules_versions.first()
    context = {
        "competition": shown,
        "track": track,
        "models": track.name == Track.Name.MODEL,
        "board": page,
        "rules_in_force": rules.version if rules else None,
        "pool_in_force": basis.pool.number if basis else None,
        "scale": scale(rules) if rules else "",
        "line": line_below(page, query_rules(rules.values, rules.version).opponents) if rules else None,
        "axis": axis_to(page.highest),
        "own": {team.slug for team in teams_of(request.user)},
        "luck": leaderboards.luck_on(
            track, [row.team_slug for row in page.rows], until=page.frozen.since if page.frozen else None
        ),
        "waits": not page.rows and basis is None and leaderboards.opposing_pool(track) is None,
    }
    framed = polling.part(request, "pages/parts/board.html", context, every=BOARD_EVERY)
    if polling.asked(request):
        return polling.answer(request, framed)
    return render(request, "pages/board.html", context | {"live_board": framed.html, "tracks": shown.tracks.all()})
