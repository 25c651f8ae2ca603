"""Announcements of a competition."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from competitions.permissions import may
from competitions.selectors import announcements_of
from core import clock
from core.roles import Right
from pages.access import competition_of


@require_safe
def news(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the announcements of a competition; organisers also see those that are not published yet."""
    competition = competition_of(request, slug)
    organises = may(request.user, competition, Right.ANSWER)
    context = {
        "competition": competition,
        "tracks": competition.tracks.all(),
        "announcements": announcements_of(competition, with_coming=organises),
        "organises": organises,
        "now": clock.database_now(),
    }
    return render(request, "pages/competition/news.html", context)
