"""Who has which role in a competition: granting, changing and taking away roles, and handing a competition over.

A competition that anybody has a role in has an owner: its first role is one, and its last owner stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from accounts.models import User
from accounts.selectors import teams_of
from competitions.models import Competition, Organiser
from competitions.permissions import require
from core import event_log
from core.errors import Refusal
from core.roles import OrganiserRole, Right


def active_user(name: str) -> User:
    """Return the active account of a user name. Raise `Refusal` without one."""
    found = User.objects.filter(username=name.strip(), is_active=True).first()
    if found is None:
        raise Refusal(f"no active account has the user name {name.strip()}", fix="check the spelling")
    return found


def grant_role(*, competition: Competition, user: User, role: OrganiserRole, by: User) -> Organiser:
    """Give a person a role and access to the admin. Raise `Refusal` unless `by` may grant roles."""
    with _locked(competition, by, user):
        _require_no_role(competition, user)
        _require_no_team(competition, user)
        if role != OrganiserRole.OWNER and not competition.organiser_roles.filter(role=OrganiserRole.OWNER).exists():
            raise Refusal(f"{competition} has no owner", fix="grant the role owner first")
        made = Organiser.objects.create(competition=competition, user=user, role=role)
        _record("grant_role", made, by)
    return made


def change_role(*, organiser: Organiser, seen: str, role: OrganiserRole, by: User) -> None:
    """Change the role of a person, which was `seen` before.

    Raise `Refusal` unless `by` may grant roles, if the role is not `seen` any more, and for the last owner.
    """
    with _locked(organiser.competition, by, organiser.user):
        current = _current(organiser)
        if current.role != seen:
            raise Refusal(f"{current.user} is {current.role} of {current.competition} now", fix="look at it again")
        if role == current.role:
            return
        _require_another_owner(current)
        before, current.role = current.role, role
        current.save(update_fields=["role"])
        _record("change_role", current, by, before=before)


def take_role_away(*, organiser: Organiser, by: User) -> None:
    """Take the role of a person away. Raise `Refusal` unless `by` may grant roles, and for the last owner.

    The person keeps access to the admin, which is empty without a role.
    """
    with _locked(organiser.competition, by, organiser.user):
        current = _current(organiser)
        _require_another_owner(current)
        _record("take_role_away", current, by)
        current.delete()


def hand_over(*, organiser: Organiser, to: User, by: User, reason: str) -> None:
    """Make another person the owner in the place of one, who becomes an organiser. Raise `Refusal`."""
    with _locked(organiser.competition, by, organiser.user, to):
        current = _current(organiser)
        if current.role != OrganiserRole.OWNER:
            raise Refusal(f"{current.user} is no owner of {current.competition}", fix="choose an owner")
        _require_no_team(current.competition, to)
        made, _ = Organiser.objects.get_or_create(competition=current.competition, user=to)
        if made.role == OrganiserRole.OWNER:
            raise Refusal(f"{to} is an owner of {current.competition} already", fix="change the role instead")
        made.role, current.role = OrganiserRole.OWNER, OrganiserRole.ORGANISER
        made.save(update_fields=["role"])
        current.save(update_fields=["role"])
        _record("hand_over", made, by, reason=reason, before=current.user.username)


@contextmanager
def _locked(competition: Competition, by: User, *users: User) -> Iterator[None]:
    """Serialise changes of the roles of a competition, and with them what its people join (`invitations`)."""
    with transaction.atomic():
        keys = {user.pk for user in users}
        list(User.objects.select_for_update(no_key=True).filter(pk__in=keys).order_by("pk"))
        Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        require(by, competition, Right.GRANT)
        yield


def _current(organiser: Organiser) -> Organiser:
    current = Organiser.objects.select_related("user", "competition").filter(pk=organiser.pk).first()
    if current is None:
        raise Refusal(f"{organiser.user} has no role in {organiser.competition} any more", fix="grant one")
    return current


def _require_no_role(competition: Competition, user: User) -> None:
    if held := Organiser.objects.filter(competition=competition, user=user).first():
        raise Refusal(f"{user} is {held.role} of {competition} already", fix="change that role")


def _require_no_team(competition: Competition, user: User) -> None:
    if team := teams_of(user).filter(entry__competition=competition).first():
        raise Refusal(
            f"{user} is in the team {team}, which competes in {competition}",
            fix="choose somebody else; who runs a competition cannot compete in it",
        )


def _require_another_owner(organiser: Organiser) -> None:
    owners = Organiser.objects.filter(competition=organiser.competition, role=OrganiserRole.OWNER, user__is_active=True)
    if organiser.role == OrganiserRole.OWNER and not owners.exclude(pk=organiser.pk).exists():
        raise Refusal(
            f"{organiser.user} is the last owner of {organiser.competition}",
            fix="hand the competition over, or make somebody else an owner first",
        )


def _record(verb: str, organiser: Organiser, by: User, *, reason: str = "", **more: str) -> None:
    User.objects.filter(pk=organiser.user_id, is_staff=False).update(is_staff=True)
    event_log.record(
        verb, organiser, by=by, reason=reason, user=organiser.user.username, role=organiser.role,
        competition=organiser.competition.slug, **more,
    )  # fmt: skip
