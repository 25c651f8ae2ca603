"""Announcements of a competition: a page and an Atom feed."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from competitions.selectors import announcements_of, may
from core import clock
from core.roles import Right
from pages.access import competition_of
from pages.competition.announcement_feed import MOST, atom
from pages.competition.conditional_answer import conditional_answer


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
        "now": clock.now(),
    }
    return render(request, "pages/competition/news.html", context)


@require_safe
def feed(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Return the newest published announcements as an Atom feed."""
    competition = competition_of(request, slug)
    text = atom(
        competition,
        announcements_of(competition)[:MOST],
        site=f"{request.scheme}://{request.get_host()}",
        page=reverse("pages:news", args=[slug]),
        feed=request.path,
    )
    return conditional_answer(request, competition, text.encode(), "application/atom+xml; charset=utf-8")
