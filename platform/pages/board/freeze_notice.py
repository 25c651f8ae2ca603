"""The freeze of the leaderboards of a competition, as pages show it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from competitions.board_freezes import frozen_since, known_until, seen_live
from competitions.models import Competition


@dataclass(frozen=True)
class Freeze:
    """Start and reason of the freeze of the public leaderboards."""

    since: datetime
    reason: str = ""


def freeze_of(competition: Competition, user: User | AnonymousUser) -> Freeze | None:
    """Return the freeze that applies to the person; None where it sees the current leaderboards."""
    since = known_until(user, competition)
    return Freeze(since) if since else None


def freezes_of(competitions: Collection[Competition], user: User | AnonymousUser) -> dict[int, Freeze]:
    """Return the `freeze_of` each competition that has one, by its key, in at most one query.

    The competitions come with their `frozen_leaderboards`.
    """
    live = seen_live(user, competitions)
    frozen = {each.pk: frozen_since(each) for each in competitions if each.pk not in live}
    return {key: Freeze(since) for key, since in frozen.items() if since}
