"""Home page and documentation."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from competitions.models import Competition
from competitions.selectors import invitations_of
from pages.competition_lists import competition_lists, open_formats


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show what Gauntlet is, the open competitions with the top of their leaderboards, and how to start."""
    lists = competition_lists(request.user)
    formats = {each.competition.format for each in lists.open}
    context = {
        "lists": lists,
        "invitations": invitations_of(request.user),
        # what is explained is the format that all open competitions have
        "transfer": formats == {Competition.Format.TRANSFER},
    }
    return render(request, "pages/home.html", context)


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Show how to take part in the formats of the open competitions; in the query format if none is open."""
    formats = open_formats(request.user)
    transfer = Competition.Format.TRANSFER in formats
    context = {"transfer": transfer, "query": Competition.Format.QUERY in formats or not transfer}
    return render(request, "pages/docs.html", context)
