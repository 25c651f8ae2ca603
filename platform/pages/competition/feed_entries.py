"""What is in the Atom feeds: announcements and rounds of a competition, and public scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.urls import reverse
from django.utils.html import format_html

from competitions.models import Announcement, Competition
from competitions.selectors import announcements_of
from core.time_format import in_words
from pages.competition.atom_feed import MOST, FeedEntry
from pages.formats import PublicScore
from pages.markdown import render
from rounds.models import Release, Round


def competition_entries(competition: Competition) -> list[FeedEntry]:
    """Return the published announcements of a competition, and what happened to its rounds in public."""
    rounds = competition.rounds.select_related("window").order_by("-pk")[:MOST]
    releases = Release.objects.filter(round__competition=competition, withdrawn_at=None).select_related("round")
    return [
        *(_announcement(competition, each) for each in announcements_of(competition)[:MOST]),
        *(entry for each in rounds for entry in _round(competition, each)),
        *(_release(competition, each) for each in releases.order_by("-released_at")[:MOST]),
    ]


def score_entries(scores: Iterable[PublicScore]) -> list[FeedEntry]:
    """Return public scores. A submission that is measured again keeps its entry, which is updated."""
    return [_score(each) for each in scores]


def _announcement(competition: Competition, of: Announcement) -> FeedEntry:
    return FeedEntry(
        key=f"announcement-{of.pk}",
        title=of.title,
        path=f"{reverse('pages:news', args=[competition.slug])}#announcement-{of.pk}",
        summary=render(of.text),
        published=of.published_at,
        updated=max(of.changed_at, of.published_at),
    )


def _round(competition: Competition, of: Round) -> Iterator[FeedEntry]:
    path = _page_of(competition, of)
    cancelled = of.state == Round.State.CANCELLED
    window = format_html(
        "<p>No submission is accepted from {} to {}.</p>", in_words(of.window.starts_at), in_words(of.window.ends_at)
    )
    yield FeedEntry(
        key=f"round-{of.pk}-planned",
        title=f"{of.title} is {'cancelled' if cancelled else 'planned'}",
        path=path,
        summary="" if cancelled else window,
        published=of.planned_at,
        updated=of.state_since if cancelled else of.planned_at,
    )
    if of.state == Round.State.PUBLISHED:
        yield FeedEntry(
            key=f"round-{of.pk}-published",
            title=f"The result of {of.title} is published",
            path=path,
            summary="",
            published=of.state_since,
            updated=of.state_since,
        )


def _release(competition: Competition, of: Release) -> FeedEntry:
    return FeedEntry(
        key=f"release-{of.pk}",
        title=f"Released: {of.get_part_display()} of {of.round.title}",
        path=_page_of(competition, of.round),
        summary="",
        published=of.released_at,
        updated=of.released_at,
    )


def _score(of: PublicScore) -> FeedEntry:
    sent = of.submission
    team, track = sent.repository.entry.team.name, sent.repository.track.title
    return FeedEntry(
        key=f"submission-{sent.pk}-score",
        title=f"{team}: {sent.title}, {of.words}",
        path=reverse("pages:submission", args=[sent.pk]),
        summary=format_html("<p>{} by {}. {}: {}.</p>", sent.title, team, track, of.words),
        published=of.scored_at,
        updated=of.scored_at,
    )


def _page_of(competition: Competition, of: Round) -> str:
    return reverse("pages:round", args=[competition.slug, of.number])
