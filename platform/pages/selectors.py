"""Queries of the pages across the apps below them."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from accounts.selectors import teams_of
from competitions.models import Competition, Entry


def own_entry(user: User | AnonymousUser, competition: Competition) -> Entry | None:
    """Return the entry of the user's team in the competition. There is at most one."""
    return Entry.objects.filter(competition=competition, team__in=teams_of(user)).select_related("team").first()
