"""Lists of competitions: what is open, coming and ended, and how active each competition is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Max, Prefetch, Q

from accounts.models import User
from accounts.selectors import teams_of
from competitions.models import Competition, Entry, FreezeWindow
from competitions.permissions import may_in, visible_competitions
from core import clock
from core.roles import Right
from pages.board.track_cards import TrackCard, cards_of
from pages.competition.calendar import NextDate, next_date
from submissions.models import Submission

RECENT = timedelta(days=7)
"""Submissions of this period make a competition active."""


@dataclass(frozen=True)
class Activity:
    """How active a competition is; `recent` is its number of submissions in `RECENT`."""

    teams: int
    submissions: int = 0
    recent: int = 0
    newest_at: datetime | None = None


@dataclass(frozen=True)
class CompetitionSummary:
    """A competition in a list. `own` is the user's team in it."""

    competition: Competition
    activity: Activity
    next: NextDate | None
    own: Entry | None
    organises: bool
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
    competitions = list(visible_competitions(user).select_related("frozen_leaderboards").prefetch_related(windows))
    activity = _activity_of(competitions, now)
    cards = cards_of(competitions, user)
    own = {
        entry.competition_id: entry
        for entry in Entry.objects.filter(team__in=teams_of(user)).select_related("team").order_by("-pk")
    }
    organised = set(may_in(user, Right.SEE).values_list("pk", flat=True))
    found = [
        CompetitionSummary(
            competition=each,
            activity=activity[each.pk],
            next=next_date(each, list(each.freeze_windows.all()), now) if each.archived_at is None else None,
            own=own.get(each.pk),
            organises=each.pk in organised,
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
        sorted(under_way, key=lambda each: _order(each.competition, each.activity), reverse=True),
        sorted(coming, key=lambda each: each.competition.starts_at),
        sorted(ended, key=lambda each: each.competition.ends_at, reverse=True),
        sorted(archived, key=lambda each: each.competition.ends_at, reverse=True),
    )


def open_competitions(user: User | AnonymousUser) -> list[Competition]:
    """Return the open competitions that the user sees, the most active first."""
    now = clock.now()
    found = list(visible_competitions(user).filter(starts_at__lte=now, ends_at__gt=now, archived_at=None))
    activity = _activity_of(found, now)
    return sorted(found, key=lambda each: _order(each, activity[each.pk]), reverse=True)


def _order(competition: Competition, activity: Activity) -> tuple[Any, ...]:
    """Return the key of the order of open competitions. One without a submission comes after all others."""
    newest = activity.newest_at.timestamp() if activity.newest_at else 0.0
    return bool(activity.submissions), activity.recent, newest, activity.teams, competition.starts_at


def _activity_of(competitions: Sequence[Competition], now: datetime) -> Mapping[int, Activity]:
    """Return how active each competition is. One pass over the submissions counts those of all."""
    teams = dict(
        Entry.objects.filter(competition__in=competitions)
        .order_by()
        .values_list("competition")
        .annotate(teams=Count("pk"))
    )
    recent = Count("pk", filter=Q(received_at__gt=now - RECENT))
    submissions = {
        competition: numbers
        for competition, *numbers in Submission.objects.filter(repository__entry__competition__in=competitions)
        .order_by()
        .values_list("repository__entry__competition")
        .annotate(number=Count("pk"), recent=recent, newest=Max("received_at"))
    }
    return {each.pk: Activity(teams.get(each.pk, 0), *submissions.get(each.pk, ())) for each in competitions}
