"""Queries about competitions: what is in force, announcements, and the teams and invitations of a person."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from accounts.models import Invitation, Team, User
from competitions.models import (
    Announcement,
    Competition,
    Entry,
    FreezeWindow,
    RulesVersion,
    TermsAcceptance,
    TermsVersion,
)
from competitions.permissions import visible_competitions
from core import clock
from core.errors import Fault


def other_team(user: User, entry: Entry) -> Team | None:
    """Return the person's team in the competition if it is not the team of `entry`, else None."""
    teams = Team.objects.filter(memberships__user=user, entry__competition=entry.competition_id)
    return teams.exclude(pk=entry.team_id).first()


def invitations_of(user: User | AnonymousUser) -> QuerySet[Invitation]:
    """Return the invitations that the person can accept now, with their teams.

    They are open, and to competitions that the person sees, that have not ended and are not archived, and in which the
    person neither is an organiser nor has a team.
    """
    if not user.is_authenticated or user.is_superuser:
        return Invitation.objects.none()
    now = clock.now()
    competitions = visible_competitions(user).filter(ends_at__gt=now, archived_at=None)
    competitions = competitions.exclude(organisers=user).exclude(entries__team__memberships__user=user)
    return Invitation.objects.filter(
        user=user, state=Invitation.State.OPEN, expires_at__gt=now, team__entry__competition__in=competitions
    ).select_related("team__entry__competition", "invited_by")


def rules_in_force(competition: Competition) -> RulesVersion:
    """Return the newest version of the rules. Raise `Fault` if there is none."""
    version = competition.rules_versions.order_by("-version").first()
    if version is None:
        raise Fault(f"{competition.slug} has no rules")
    return version


def terms_in_force(competition: Competition) -> TermsVersion | None:
    """Return the newest version of the terms, None if teams have nothing to accept."""
    newest = competition.terms_versions.order_by("-version").first()
    return newest if newest is not None and newest.text else None


def acceptance_of(entry: Entry, terms: TermsVersion) -> TermsAcceptance | None:
    """Return the team's acceptance of the text of a version, also if it accepted the same text as another version."""
    accepted = TermsAcceptance.objects.filter(entry=entry, terms__digest=terms.digest)
    return accepted.select_related("user", "terms").first()


def announcements_of(competition: Competition, *, with_coming: bool = False) -> QuerySet[Announcement]:
    """Return the published announcements, the newest first; for organisers `with_coming` ones."""
    rows = competition.announcements.all()
    return rows if with_coming else rows.filter(published_at__lte=clock.database_time())


def effective_windows(competition: Competition) -> QuerySet[FreezeWindow]:
    """Return the past, current and future freeze windows, without those called off."""
    return competition.freeze_windows.filter(called_off_at__isnull=True)
