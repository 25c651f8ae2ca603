"""Pages of a competition: overview and rules."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from competitions.permissions import may
from competitions.rules_difference import differences
from competitions.sample_pictures import clean_picture
from competitions.selectors import announcements_of, terms_in_force
from core import clock
from core.picture_answers import picture_answer
from core.roles import Right
from pages.access import competition_of, own_entry
from pages.board.track_cards import cards
from pages.competition.calendar import calendar
from pages.competition.calendar_file import calendar_file
from pages.competition.conditional_answer import conditional_answer
from pages.competition.development_samples import development_set, examples
from pages.formats import page_formats
from pages.manual.documents import tutorials
from pages.shared_pages import shared

NEWS = 3
"""Announcements on the overview."""


@require_safe
@shared
def competition(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the overview of a competition."""
    shown = competition_of(request, slug)
    rules = shown.rules_versions.first()
    tracks = shown.tracks.all()
    of_format = page_formats.of(shown)
    context = {
        "competition": shown,
        "cards": cards(shown, request.user),
        "tracks": tracks,
        "overview": of_format.overview(shown),
        "rules": rules,
        "rows": of_format.rules(rules) if rules else [],
        "examples": examples(shown),
        "tutorials": [each for each in tutorials() if each.name in of_format.guide().tutorials],
        "calendar": calendar(shown),
        "own": own_entry(request.user, shown),
        "organises": may(request.user, shown, Right.SEE),
        "open": clock.now() < shown.ends_at and shown.archived_at is None,
        "news": announcements_of(shown)[:NEWS],
        "written": shown.pages.all(),
        "terms": terms_in_force(shown),
    }
    return render(request, "pages/competition/competition.html", context)


@require_safe
def calendar_ics(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Return the calendar as a file, to which calendar programs can subscribe."""
    shown = competition_of(request, slug)
    content = calendar_file(shown, calendar(shown), f"{request.scheme}://{request.get_host()}")
    return conditional_answer(request, shown, content, "text/calendar; charset=utf-8")


@require_safe
def development_image(request: HttpRequest, slug: str, sample: int) -> HttpResponse:
    """Return a development image as PNG."""
    samples = development_set(competition_of(request, slug))
    if samples is None:
        raise Http404("no development samples")
    return picture_answer(lambda: clean_picture(samples, sample))


@require_safe
@shared
def rules(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the rules in force and all earlier versions."""
    shown = competition_of(request, slug)
    of_format = page_formats.of(shown)
    newest_first = list(shown.rules_versions.all())
    versions = [
        (version, of_format.rules(version), newest_first[index + 1].version if index + 1 < len(newest_first) else None)
        for index, version in enumerate(newest_first)
    ]
    context = {"competition": shown, "tracks": shown.tracks.all(), "versions": versions}
    return render(request, "pages/competition/rules.html", context)


@require_safe
def rules_difference(request: HttpRequest, slug: str, old: int, new: int) -> HttpResponse:
    """Show the differences between two versions of the rules, in either order."""
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
    return render(request, "pages/competition/rules_difference.html", context)
