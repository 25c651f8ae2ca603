"""Lists of competitions, leaderboards and teams, the page of a person, and the search."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.models import User
from competitions.permissions import visible_competitions
from pages.directory import selectors
from pages.directory.competition_list_data import competition_lists
from pages.shared_pages import shared

TEAMS_PER_PAGE = 50


@require_safe
@shared
def competitions(request: HttpRequest) -> HttpResponse:
    """Show every competition: open, coming and ended."""
    return render(request, "pages/directory/competitions.html", {"lists": competition_lists(request.user)})


@require_safe
@shared
def leaderboards(request: HttpRequest) -> HttpResponse:
    """Show the leader of every leaderboard."""
    return render(request, "pages/directory/leaderboards.html", {"lists": competition_lists(request.user)})


@require_safe
@shared
def teams(request: HttpRequest) -> HttpResponse:
    """Show the teams of all competitions or of one (`?competition=`), with a part of a name (`?q=`)."""
    named, slug = request.GET.get("q", "").strip()[: selectors.LONGEST], request.GET.get("competition", "")
    entries = selectors.entries_shown(request.user, named=named, competition=slug)
    context = {
        "page": Paginator(entries, TEAMS_PER_PAGE).get_page(request.GET.get("page")),
        "competitions": visible_competitions(request.user),
        "named": named,
        "chosen": slug,
    }
    return render(request, "pages/directory/teams.html", context)


@require_safe
def person(request: HttpRequest, username: str) -> HttpResponse:
    """Show the teams of a person. Raise 404 for a person in no team that the user may see, except the user."""
    found = get_object_or_404(User, username=username)
    memberships = list(selectors.memberships_shown(found, request.user))
    if not memberships and found != request.user:
        raise Http404("no such page")
    return render(request, "pages/directory/person.html", {"person": found, "memberships": memberships})


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Show competitions, teams, submissions and people by a part of their names."""
    text = request.GET.get("q", "")
    context = {"text": text, "results": selectors.search(text, request.user), "shortest": selectors.SHORTEST}
    return render(request, "pages/directory/search.html", context)
