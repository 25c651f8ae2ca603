"""Home page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from competitions.selectors import invitations_of, visible_competitions
from pages.selectors import cards, own_entry


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show what Gauntlet is, the competitions, the top of the newest one, and how to start."""
    competitions = list(visible_competitions(request.user))
    newest = competitions[0] if competitions else None
    context = {
        "competitions": competitions,
        "newest": newest,
        "cards": cards(newest, request.user) if newest else [],
        "invitations": invitations_of(request.user),
        "own": own_entry(request.user, newest) if newest else None,
    }
    return render(request, "pages/home.html", context)
