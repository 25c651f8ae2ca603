"""Teams, submissions and people: lists and search, within the competitions that the user may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Lower

from accounts.models import Membership, User
from competitions.models import Competition, Entry
from competitions.permissions import visible_competitions
from submissions.models import Submission

FOUND = 20
"""Results of a search that are shown of each kind."""

SHORTEST = 2
"""Characters that a search needs; a submission is found by its number, too."""

LONGEST = 80
_LARGEST_NUMBER = 2**31 - 1


def entries_shown(user: User | AnonymousUser, *, named: str = "", competition: str = "") -> QuerySet[Entry, Any]:
    """Return the entries that the user may see, the one with the newest submission first.

    `named` is a part of the name of the team, `competition` the slug of a competition; "" selects all. Each entry has
    the numbers of its `people` and `submissions`, and `newest_at`.
    """
    visible = visible_competitions(user)
    if competition:
        visible = visible.filter(slug=competition)
    members = Membership.objects.filter(team=OuterRef("team")).order_by().values("team")
    submissions = Submission.objects.filter(repository__entry=OuterRef("pk")).order_by().values("repository__entry")
    entries: QuerySet[Entry, Any] = Entry.objects.filter(_team_named(named), competition__in=visible).annotate(
        people=Coalesce(Subquery(members.annotate(count=Count("pk")).values("count")), 0),
        submissions=Coalesce(Subquery(submissions.annotate(count=Count("pk")).values("count")), 0),
        newest_at=Subquery(submissions.annotate(newest=Max("received_at")).values("newest")),
    )
    newest_first = Coalesce("newest_at", "joined_at").desc()
    return entries.select_related("team", "competition").order_by(newest_first, "team__slug")


def _team_named(part: str) -> Q:
    return Q(team__name__icontains=part) | Q(team__slug__icontains=part) if part else Q()


def memberships_shown(person: User, user: User | AnonymousUser) -> QuerySet[Membership]:
    """Return the memberships of a person in teams of competitions that the user may see."""
    visible = visible_competitions(user)
    return (
        Membership.objects.filter(user=person, team__entry__competition__in=visible)
        .select_related("team__entry__competition")
        .order_by("-team__entry__competition__starts_at", "team__slug")
    )


@dataclass(frozen=True)
class Found:
    """Results of one kind. `more`: there are further ones."""

    rows: Sequence[Any]
    more: bool


@dataclass(frozen=True)
class SearchResults:
    """Results of a search."""

    competitions: Found
    teams: Found
    submissions: Found
    people: Found

    @property
    def any(self) -> bool:
        """Whether something was found."""
        return any(found.rows for found in (self.competitions, self.teams, self.submissions, self.people))


def search(text: str, user: User | AnonymousUser) -> SearchResults | None:
    """Return what the user may see with `text` in its name, or None if the text is too short.

    People are found by their user names if they are in a team that the user may see: other accounts are not public.
    """
    text = text.strip().removeprefix("#")[:LONGEST]
    number = int(text) if text.isdecimal() and int(text) <= _LARGEST_NUMBER else None
    if len(text) < SHORTEST and number is None:
        return None
    visible = visible_competitions(user)
    titled = Q(title__icontains=text) if len(text) >= SHORTEST else Q(pk__in=[])
    named = Submission.objects.filter(titled | Q(pk=number), hidden_at=None)
    submissions = named.filter(repository__entry__competition__in=visible)
    in_teams = Membership.objects.filter(team__entry__competition__in=visible).values("user")
    people = User.objects.filter(username__icontains=text, pk__in=in_teams)
    if len(text) < SHORTEST:
        people, teams, competitions = User.objects.none(), Entry.objects.none(), Competition.objects.none()
    else:
        teams = Entry.objects.filter(_team_named(text), competition__in=visible)
        competitions = visible.filter(Q(title__icontains=text) | Q(slug__icontains=text))
    related = ("repository__entry__team", "repository__track__competition")
    return SearchResults(
        _found(competitions),
        _found(teams.select_related("team", "competition").order_by(Lower("team__name"))),
        _found(submissions.select_related(*related).order_by("-pk")),
        _found(people.order_by("username")),
    )


def _found(rows: QuerySet[Any]) -> Found:
    found = list(rows[: FOUND + 1])
    return Found(found[:FOUND], len(found) > FOUND)
