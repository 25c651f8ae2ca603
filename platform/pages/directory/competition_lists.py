"""Lists of competitions: what is open, coming and ended, and how active each competition is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Max, OuterRef, Prefetch, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import User
from accounts.selectors import teams_of
from competitions.models import Competition, Entry, FreezeWindow
from competitions.selectors import visible_competitions
from core import clock
from pages.board.track_cards import TrackCard, cards_of
from pages.competition.calendar import NextDate, next_date
from submissions.models import Submission

RECENT = timedelta(days=7)
"""Submissions of this period make a competition active."""


@dataclass(frozen=True)
class CompetitionSummary:
    """A competition in a list. `own` is the user's team in it, `recent` its number of submissions in `RECENT`."""

    competition: Competition
    teams: int
    submissions: int
    recent: int
    newest_at: datetime | None
    next: NextDate | None
    own: Entry | None
    cards: Sequence[TrackCard]

    @property
    def scored(self) -> bool:
        """Whether a track has a score."""
        return any(card.top for card in self.cards)


@dataclass(frozen=True)
class CompetitionLists:
    """Open competitions, the most active first; coming ones, the next first; ended and archived ones, last first."""

    open: Sequence[CompetitionSummary]
    coming: Sequence[CompetitionSummary]
    ended: Sequence[CompetitionSummary]
    archived: Sequence[CompetitionSummary]

    @property
    def any(self) -> bool:
        """Whether there is a competition that is not archived."""
        return bool(self.open or self.coming or self.ended)


def competition_lists(user: User | AnonymousUser) -> CompetitionLists:
    """Return every competition that the user sees, in a number of queries that does not depend on how many."""
    now = clock.now()
    windows = Prefetch("freeze_windows", FreezeWindow.objects.all())
    competitions = list(
        _with_activity(visible_competitions(user), now).select_related("frozen_leaderboards").prefetch_related(windows)
    )
    cards = cards_of(competitions, user)
    own = {
        entry.competition_id: entry
        for entry in Entry.objects.filter(team__in=teams_of(user)).select_related("team").order_by("-pk")
    }
    found = [
        CompetitionSummary(
            competition=each,
            teams=each.teams,
            submissions=each.submissions,
            recent=each.recent,
            newest_at=each.newest_at,
            next=next_date(each, list(each.freeze_windows.all()), now) if each.archived_at is None else None,
            own=own.get(each.pk),
            cards=cards[each.pk],
        )
        for each in competitions
    ]
    archived = [each for each in found if each.competition.archived_at is not None]
    found = [each for each in found if each.competition.archived_at is None]
    under_way = [each for each in found if each.competition.starts_at <= now < each.competition.ends_at]
    coming = [each for each in found if now < each.competition.starts_at]
    ended = [each for each in found if each.competition.ends_at <= now]
    return CompetitionLists(
        sorted(under_way, key=_activity, reverse=True),
        sorted(coming, key=lambda each: each.competition.starts_at),
        sorted(ended, key=lambda each: each.competition.ends_at, reverse=True),
        sorted(archived, key=lambda each: each.competition.ends_at, reverse=True),
    )


def open_formats(user: User | AnonymousUser) -> set[str]:
    """Return the formats of the open competitions that the user sees."""
    now = clock.now()
    under_way = visible_competitions(user).filter(starts_at__lte=now, ends_at__gt=now, archived_at=None)
    return set(under_way.order_by().values_list("format", flat=True).distinct())


def _activity(shown: CompetitionSummary) -> tuple[Any, ...]:
    """Return the key of the order of open competitions. One without a submission comes after all others."""
    newest = shown.newest_at.timestamp() if shown.newest_at else 0.0
    return bool(shown.submissions), shown.recent, newest, shown.teams, shown.competition.starts_at


def _with_activity(competitions: QuerySet[Competition], now: datetime) -> QuerySet[Competition, Any]:
    entries = Entry.objects.filter(competition=OuterRef("pk")).order_by().values("competition")
    submissions = (
        Submission.objects.filter(repository__entry__competition=OuterRef("pk"))
        .order_by()
        .values("repository__entry__competition")
    )
    recent = submissions.filter(received_at__gt=now - RECENT)
    annotated: QuerySet[Competition, Any] = competitions.annotate(
        teams=Coalesce(Subquery(entries.annotate(count=Count("pk")).values("count")), 0),
        submissions=Coalesce(Subquery(submissions.annotate(count=Count("pk")).values("count")), 0),
        recent=Coalesce(Subquery(recent.annotate(count=Count("pk")).values("count")), 0),
        newest_at=Subquery(submissions.annotate(newest=Max("received_at")).values("newest")),
    )
    return annotated
