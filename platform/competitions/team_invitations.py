"""Invitations into a team that takes part in a competition.

The captain gets the same answer for every name, so that an invitation does not reveal who has an account or organises.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Q

from accounts.models import AccountRequest, Invitation, Membership, User
from accounts.services import join, require_captain
from competitions.models import Competition, Entry
from competitions.permissions import may, require_not_archived
from competitions.selectors import other_team
from core import clock, event_log
from core.errors import Refusal, RefusedForNow
from core.roles import Right

LIFETIME = timedelta(days=14)
"""Time for which an invitation can be accepted."""

MAX_PER_HOUR = 20
"""Maximum number of invitations that one person can send in an hour."""

HOUR = timedelta(hours=1)


def invite(*, entry: Entry, username: str, by: User) -> Invitation:
    """Invite a person by user name, in any case, as at the sign-in. The result is the same without such an account.

    Raise `Refusal` if `by` is not the captain, after the competition's end or in an archived one, for members of the
    team and for names that are already invited. Raise `RefusedForNow` above `MAX_PER_HOUR`.
    """
    username = username.strip()
    require_captain(entry.team, by)
    _require_running(entry.competition)
    if not 1 <= len(username) <= 150 or not username.isprintable():
        raise Refusal(
            "the user name is missing or not valid",
            fix="enter the user name with which the person signs in",
        )
    if Membership.objects.filter(team=entry.team, user__username__iexact=username).exists():
        raise Refusal(
            f"{username} is already in {entry.team}",
            fix="no action needed",
        )
    now = clock.now()
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=by.pk)  # serialises requests, for the limit
        _require_below_limit(by)
        open_ones = entry.team.invitations.filter(username__iexact=username, state=Invitation.State.OPEN)
        open_ones.filter(expires_at__lte=now).update(state=Invitation.State.EXPIRED, settled_at=now)
        if open_ones.exists():
            raise Refusal(
                f"{username} is already invited",
                fix="wait for the answer, or withdraw the invitation",
            )
        user = _account(username)
        invited = user if user is not None and not may(user, entry.competition, Right.SEE) else None
        invitation = Invitation.objects.create(
            team=entry.team,
            username=username,
            user=invited,
            invited_by=by,
            made_at=now,
            expires_at=now + LIFETIME,
        )
        event_log.record("invite", invitation, by=by, team=entry.team_id, username=username)
    return invitation


def accept(*, invitation: Invitation, by: User) -> Membership:
    """Accept an invitation and join the team. Raise `Refusal` if it is not open, or a rule forbids it."""
    entry = Entry.objects.select_related("team", "competition").get(team=invitation.team_id)
    with transaction.atomic():
        # locks the person before the invitation: of two concurrent acceptances, the second sees the first
        User.objects.select_for_update(no_key=True).get(pk=by.pk)
        locked = _own_invitation(invitation, by)
        if locked.expires_at <= clock.now():
            raise Refusal(
                "this invitation has expired",
                fix=f"ask the captain of {entry.team} for a new invitation",
            )
        _require_running(entry.competition)
        if may(by, entry.competition, Right.SEE):
            raise Refusal(
                f"organisers of {entry.competition} cannot compete in it",
                fix="decline the invitation",
            )
        if other := other_team(by, entry):
            raise Refusal(
                f"you are already in the team {other} ({other.slug}) of {entry.competition}",
                fix="leave that team first; a person can be in one team per competition",
            )
        _set_state(locked, Invitation.State.ACCEPTED)
        event_log.record("accept_invitation", locked, by=by, team=entry.team_id)
        membership = join(team=entry.team, user=by)
    invitation.refresh_from_db()
    return membership


def decline(*, invitation: Invitation, by: User) -> None:
    """Decline an invitation. Raise `Refusal` if it is not open or belongs to another person."""
    with transaction.atomic():
        locked = _own_invitation(invitation, by)
        _set_state(locked, Invitation.State.DECLINED)
        event_log.record("decline_invitation", locked, by=by, team=locked.team_id)
    invitation.refresh_from_db()


def withdraw_invitation(*, invitation: Invitation, by: User) -> None:
    """Withdraw an invitation. Raise `Refusal` if `by` is not the captain or it is not open."""
    require_captain(invitation.team, by)
    with transaction.atomic():
        locked = _locked_open(invitation)
        _set_state(locked, Invitation.State.WITHDRAWN)
        event_log.record("withdraw_invitation", locked, by=by, team=locked.team_id)
    invitation.refresh_from_db()


def _account(username: str) -> User | None:
    """Return the account of a user name; of several that differ in case alone, the one with just this name."""
    # a person who waits for approval sees the invitation after the approval
    waiting = Q(account_request__state=AccountRequest.State.WAITING)
    found = list(User.objects.filter(Q(is_active=True) | waiting, username__iexact=username))
    return next((each for each in found if each.username == username or len(found) == 1), None)


def _own_invitation(invitation: Invitation, by: User) -> Invitation:
    if invitation.user_id != by.pk:
        raise Refusal("this invitation belongs to another person", fix="answer your own invitations only")
    return _locked_open(invitation)


def _locked_open(invitation: Invitation) -> Invitation:
    locked = Invitation.objects.select_for_update(no_key=True).get(pk=invitation.pk)
    if locked.state != Invitation.State.OPEN:
        raise Refusal(
            f"this invitation is already {locked.get_state_display()}",
            fix="no action needed",
        )
    return locked


def _set_state(locked: Invitation, state: Invitation.State) -> None:
    locked.state, locked.settled_at = state, clock.now()
    locked.save(update_fields=["state", "settled_at"])


def _require_running(competition: Competition) -> None:
    require_not_archived(competition)
    if clock.now() >= competition.ends_at:
        raise Refusal(f"{competition} has ended", fix="enter another competition")


def _require_below_limit(by: User) -> None:
    sent = by.sent_invitations.filter(made_at__gt=clock.now() - HOUR).order_by("-made_at")
    if sent.count() >= MAX_PER_HOUR:
        raise RefusedForNow(
            f"you sent {MAX_PER_HOUR} invitations in the last hour",
            accepted_from=sent[MAX_PER_HOUR - 1].made_at + HOUR,
            fix="wait, then invite again",
        )
