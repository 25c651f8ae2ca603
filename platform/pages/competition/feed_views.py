"""Atom feeds of a competition, a track and a team: the same for everyone who sees the competition."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe

from competitions.models import Competition
from pages.access import competition_of, entry_of, track_of
from pages.competition.atom_feed import MOST, FeedEntry, atom
from pages.competition.conditional_answer import conditional_answer
from pages.competition.feed_entries import competition_entries, score_entries
from pages.formats import page_formats


@require_safe
def competition_feed(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Return published announcements, and rounds that were planned, published and released."""
    competition = competition_of(request, slug)
    page = reverse("pages:news", args=[slug])
    entries = competition_entries(competition)
    return _answer(request, competition, entries, competition.title, competition.summary, page)


@require_safe
def track_feed(request: HttpRequest, slug: str, track_name: str) -> HttpResponseBase:
    """Return the scores that entered the leaderboard of a track, as the public sees it."""
    track = track_of(request, slug, track_name)
    competition = track.competition
    scores = page_formats.of(competition).public_scores(track, MOST)
    page = reverse("pages:board", args=[slug, track_name])
    title = f"{competition.title}: {track.title}"
    return _answer(request, competition, score_entries(scores), title, "Scores on the leaderboard.", page)


@require_safe
def team_feed(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Return the public scores of the submissions of a team."""
    entry = entry_of(request, slug)
    competition = entry.competition
    shown = page_formats.of(competition)
    scores = [score for track in competition.tracks.all() for score in shown.public_scores(track, MOST, entry)]
    title = f"{entry.team.name} in {competition.title}"
    page = reverse("pages:team", args=[slug])
    return _answer(request, competition, score_entries(scores), title, "Scores of submissions.", page)


def _answer(
    request: HttpRequest, competition: Competition, entries: Iterable[FeedEntry], title: str, subtitle: str, page: str
) -> HttpResponseBase:
    site = f"{request.scheme}://{request.get_host()}"
    text = atom(competition, entries, title=title, subtitle=subtitle, site=site, page=page, feed=request.path)
    return conditional_answer(request, competition, text.encode(), "application/atom+xml; charset=utf-8")
