"""Whether the public leaderboards of a competition are frozen, and who sees the live ones meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from accounts.selectors import is_member
from competitions.models import Competition, Entry, FrozenLeaderboards
from competitions.permissions import may, may_in, sees_everything_of
from core.roles import Right


def frozen_since(competition: Competition) -> datetime | None:
    """Return the time since which the competition's public leaderboards are frozen; None if they are live."""
    try:
        return competition.frozen_leaderboards.since
    except FrozenLeaderboards.DoesNotExist:
        return None


def known_until(user: User | AnonymousUser, competition: Competition) -> datetime | None:
    """Return the time up to which the person sees the scores of all teams; None without a limit."""
    return None if sees_live(user, competition) else frozen_since(competition)


def sees_live(user: User | AnonymousUser, competition: Competition) -> bool:
    """Return whether the person sees live leaderboards: everyone unless they are frozen, and always organisers."""
    return frozen_since(competition) is None or may(user, competition, Right.SEE_SECRETS)


def sees_scores_of(user: User | AnonymousUser, entry: Entry, *, inside: bool | None = None) -> bool:
    """Return whether the person sees the scores of a team that are not public: its members and the organisers.

    Not helpers in a freeze, who see everything else of a team. `inside`: whether that is so, if known.
    """
    known = sees_everything_of(user, entry) if inside is None else inside
    return known and (sees_live(user, entry.competition) or is_member(user, entry.team))


def seen_live(user: User | AnonymousUser, competitions: Iterable[Competition]) -> set[int]:
    """Return the keys of the competitions whose live leaderboards the person sees, as `sees_live`.

    In one query, if the competitions were read with their `frozen_leaderboards`.
    """
    known = list(competitions)
    live = {each.pk for each in known if frozen_since(each) is None}
    if len(live) < len(known):
        live |= set(may_in(user, Right.SEE_SECRETS).values_list("pk", flat=True)) & {each.pk for each in known}
    return live
