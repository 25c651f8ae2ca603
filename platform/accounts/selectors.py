"""Queries about people and teams."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.models import AccountRequest, Invitation, Membership, Team, User
from core import clock


def signed_in_user(request: HttpRequest) -> User:
    """Return the user of the request. Raise `PermissionDenied` if nobody is signed in."""
    if isinstance(request.user, User):
        return request.user
    raise PermissionDenied


def is_member(user: User | AnonymousUser, team: Team) -> bool:
    """Return whether the person is in the team, as captain or member."""
    return user.is_active and Membership.objects.filter(team=team, user_id=user.pk).exists()


def is_captain(user: User | AnonymousUser, team: Team) -> bool:
    """Return whether the person is the team's captain."""
    role = Membership.Role.CAPTAIN
    return user.is_active and Membership.objects.filter(team=team, user_id=user.pk, role=role).exists()


def member_keys(team: Team) -> set[int]:
    """Return the keys of the people in the team: those who left it may have no page."""
    return set(team.memberships.values_list("user", flat=True))


def teams_of(user: User | AnonymousUser) -> QuerySet[Team]:
    """Return the person's teams, by slug."""
    return Team.objects.filter(memberships__user_id=user.pk) if user.pk else Team.objects.none()


def open_invitations(team: Team) -> QuerySet[Invitation]:
    """Return the team's invitations that wait for an answer."""
    return team.invitations.filter(state=Invitation.State.OPEN, expires_at__gt=clock.now())


def waiting_requests() -> QuerySet[AccountRequest]:
    """Return the sign-ups that no organiser has decided."""
    return AccountRequest.objects.filter(state=AccountRequest.State.WAITING)
