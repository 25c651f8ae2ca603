"""Invitations into a team that takes part in a competition. Part of the services.

Who invites is told the same of every name, so that nobody learns who has an account or who organises.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Q

from accounts.models import AccountRequest, Invitation, Membership, User
from accounts.services import join, require_captain
from competitions.models import Competition, Entry
from competitions.selectors import may_organise, other_team
from core import clock, events
from core.errors import Refusal, RefusedForNow

LIFETIME = timedelta(days=14)
"""How long an invitation can be accepted."""

MOST_AN_HOUR = 20
"""How many invitations one person may send in an hour, to whatever names."""

HOUR = timedelta(hours=1)


def invite(*, entry: Entry, username: str, by: User) -> Invitation:
    """Let the captain invite a person by user name. The same for names that reach somebody and for those that do not.

    Raises `Refusal` for strangers, after the end, for members of the team and for names that are invited already, and
    `RefusedForNow` after `MOST_AN_HOUR`.
    """
    username = username.strip()
    require_captain(entry.team, by)
    _require_running(entry.competition)
    if not 1 <= len(username) <= 150 or not username.isprintable():
        raise Refusal("there is no user name to invite", fix="give the user name with which the person signs in")
    if Membership.objects.filter(team=entry.team, user__username=username).exists():
        raise Refusal(f"{username} is already in {entry.team}", fix="nothing is to be done")
    now = clock.now()
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=by.pk)  # two at once cannot both be the last of an hour
        _require_few(by)
        same = entry.team.invitations.filter(username=username, state=Invitation.State.OPEN)
        same.filter(expires_at__lte=now).update(state=Invitation.State.EXPIRED, settled_at=now)
        if same.exists():
            raise Refusal(f"{username} is invited already", fix="wait for the answer, or withdraw the invitation")
        # who waits for approval sees it once there is an account to sign in with
        waiting = Q(account_request__state=AccountRequest.State.WAITING)
        user = User.objects.filter(Q(is_active=True) | waiting, username=username).first()
        reached = user if user is not None and not may_organise(user, entry.competition) else None
        invitation = Invitation.objects.create(
            team=entry.team,
            username=username,
            user=reached,
            invited_by=by,
            made_at=now,
            expires_at=now + LIFETIME,
        )
        events.record("invite", invitation, by=by, team=entry.team_id, username=username)
    return invitation


def accept(*, invitation: Invitation, by: User) -> Membership:
    """Let the person who is invited join the team. Raises `Refusal` where it is not open, or a rule forbids it."""
    entry = Entry.objects.select_related("team", "competition").get(team=invitation.team_id)
    with transaction.atomic():
        # the person before the invitation: of two teams that are accepted at once, the second sees the first
        User.objects.select_for_update(no_key=True).get(pk=by.pk)
        held = _held(invitation, by)
        if held.expires_at <= clock.now():
            raise Refusal("this invitation has expired", fix=f"ask the captain of {entry.team} for another one")
        _require_running(entry.competition)
        if may_organise(by, entry.competition):
            raise Refusal(
                f"the organisers of {entry.competition} do not compete in it", fix="decline, or compete elsewhere"
            )
        if other := other_team(by, entry):
            raise Refusal(
                f"you are already in the team {other} ({other.slug}) of {entry.competition}",
                fix="a person is in one team of a competition: leave that team first",
            )
        _settle(held, Invitation.State.ACCEPTED)
        events.record("accept_invitation", held, by=by, team=entry.team_id)
        membership = join(team=entry.team, user=by)
    invitation.refresh_from_db()
    return membership


def decline(*, invitation: Invitation, by: User) -> None:
    """Let the person who is invited say no. Raises `Refusal`."""
    with transaction.atomic():
        held = _held(invitation, by)
        _settle(held, Invitation.State.DECLINED)
        events.record("decline_invitation", held, by=by, team=held.team_id)
    invitation.refresh_from_db()


def withdraw_invitation(*, invitation: Invitation, by: User) -> None:
    """Let the captain take an invitation back. Raises `Refusal`."""
    require_captain(invitation.team, by)
    with transaction.atomic():
        held = _open(invitation)
        _settle(held, Invitation.State.WITHDRAWN)
        events.record("withdraw_invitation", held, by=by, team=held.team_id)
    invitation.refresh_from_db()


def _held(invitation: Invitation, by: User) -> Invitation:
    if invitation.user_id != by.pk:
        raise Refusal("this invitation is another person's", fix="answer one of your own")
    return _open(invitation)


def _open(invitation: Invitation) -> Invitation:
    held = Invitation.objects.select_for_update(no_key=True).get(pk=invitation.pk)
    if held.state != Invitation.State.OPEN:
        raise Refusal(f"this invitation is {held.get_state_display()} already", fix="nothing is to be done")
    return held


def _settle(held: Invitation, state: Invitation.State) -> None:
    held.state, held.settled_at = state, clock.now()
    held.save(update_fields=["state", "settled_at"])


def _require_running(competition: Competition) -> None:
    if clock.now() >= competition.ends_at:
        raise Refusal(f"{competition} has ended", fix="enter another competition")


def _require_few(by: User) -> None:
    sent = by.sent_invitations.filter(made_at__gt=clock.now() - HOUR).order_by("-made_at")
    if sent.count() >= MOST_AN_HOUR:
        raise RefusedForNow(
            f"you sent {MOST_AN_HOUR} invitations in an hour",
            accepted_from=sent[MOST_AN_HOUR - 1].made_at + HOUR,
            fix="wait",
        )
