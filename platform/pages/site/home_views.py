"""Home page and documentation."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from competitions.selectors import invitations_of
from core.participant_kit import kit
from pages.directory.competition_list_data import competition_lists, open_competitions
from pages.formats import formats_named
from pages.manual.documents import groups, tutorials
from pages.manual.search import LONGEST
from pages.shared_pages import shared


@require_safe
@shared
def home(request: HttpRequest) -> HttpResponse:
    """Show what Gauntlet is, the open competitions with the top of their leaderboards, and how to start."""
    lists = competition_lists(request.user)
    # with competitions of several formats, the first one is explained
    explained = formats_named({each.competition.format for each in lists.open})[0]
    context = {"lists": lists, "invitations": invitations_of(request.user), "texts": explained.home()}
    return render(request, "pages/site/home.html", context)


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Show how to take part in the formats of the open competitions; in the first format if none is open."""
    competitions = open_competitions(request.user)
    guides = [each.guide() for each in formats_named({each.format for each in competitions})]
    context = {
        "guides": guides,
        "evaluated": ", ".join(guide.evaluated for guide in guides),
        "groups": groups(),
        "longest": LONGEST,
        "tutorials": tutorials(),
        "first": competitions[0] if competitions else None,
        "kit": kit(),
    }
    return render(request, "pages/site/docs.html", context)
