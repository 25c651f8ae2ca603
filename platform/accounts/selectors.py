"""What is known of people and teams."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from accounts.models import AccountRequest, Invitation, Membership, Team, User
from core import clock


def is_member(user: User | AnonymousUser, team: Team) -> bool:
    """Whether the person is in the team, as captain or member."""
    return user.is_active and Membership.objects.filter(team=team, user_id=user.pk).exists()


def teams_of(user: User | AnonymousUser) -> QuerySet[Team]:
    """The teams that the person is in, by slug."""
    return Team.objects.filter(memberships__user_id=user.pk) if user.pk else Team.objects.none()


def open_invitations(team: Team) -> QuerySet[Invitation]:
    """The invitations into the team that wait for an answer, for its captain."""
    return team.invitations.filter(state=Invitation.State.OPEN, expires_at__gt=clock.now())


def waiting_requests() -> QuerySet[AccountRequest]:
    """The sign-ups on which no organiser has decided."""
    return AccountRequest.objects.filter(state=AccountRequest.State.WAITING)
