"""What a person's role in a competition allows, and which competitions a person sees."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from accounts.models import User
from accounts.selectors import is_member
from competitions.models import Competition, Entry, Organiser
from competitions.origin import require_played_here
from core.errors import Refusal
from core.roles import Right, roles_with
from core.time_format import in_words

_CHANGES = (Right.RUN, Right.JUDGE, Right.ANSWER)
"""What changes the results of a competition, or goes on in it."""


def may(user: User | AnonymousUser, competition: Competition, right: Right) -> bool:
    """Return whether the person's role in the competition allows something; superusers may do everything."""
    return user.is_active and (user.is_superuser or may_in(user, right).filter(pk=competition.pk).exists())


def may_in(user: User | AnonymousUser, right: Right) -> QuerySet[Competition]:
    """Return the competitions of which `may` is true for the person."""
    if not user.is_active:
        return Competition.objects.none()
    if user.is_superuser:
        return Competition.objects.all()
    return Competition.objects.filter(organiser_roles__user=user.pk, organiser_roles__role__in=roles_with(right))


def require(by: User | AnonymousUser, competition: Competition, right: Right, *, archived: bool = False) -> None:
    """Raise `Refusal` unless the person's role in the competition allows it.

    Nothing runs in an archived one, unless `archived` allows it, and nothing at all changes in an imported one.
    """
    if may(by, competition, right):
        if right is Right.RUN and not archived:
            require_not_archived(competition)
        if right in _CHANGES and not archived and competition.archived_at is not None:
            require_played_here(competition)
        return
    role = Organiser.objects.filter(competition=competition, user=by.pk).first()
    if role is None or not by.is_active:
        raise Refusal(f"only organisers of {competition.title} can do this", fix="ask an organiser")
    raise Refusal(
        f"your role in {competition.title}, {role.get_role_display().lower()}, does not allow this",
        fix=f"ask somebody who is {' or '.join(roles_with(right))}",
    )


def require_not_archived(competition: Competition) -> None:
    """Raise `Refusal` if the competition is archived."""
    if competition.archived_at is not None:
        raise Refusal(
            f"{competition.title} was archived at {in_words(competition.archived_at)}",
            fix="ask an owner of the competition to take it back; until then it can only be read",
        )


def sees_everything_of(user: User | AnonymousUser, entry: Entry) -> bool:
    """Return whether the person sees what only the team and its organisers see."""
    return is_member(user, entry.team) or may(user, entry.competition, Right.SEE)


def visible_competitions(user: User | AnonymousUser) -> QuerySet[Competition]:
    """Return the public competitions, for organisers also their own, for superusers all."""
    return Competition.objects.filter(Q(public=True) | Q(pk__in=may_in(user, Right.SEE).values("pk")))
