"""Who sees the errors by class of a pair of a published round; `rounds.publishing.pair_visibility` has the rest.

Everyone sees the counts of each pair, by epsilon. Errors by class follow from the bundle, and are public with it; until
then a defence, which chooses what it labels, would learn the classes of single images.
"""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from competitions.permissions import may
from core.roles import Right
from rounds.models import Release, Round
from rounds.publishing.pair_visibility import released_parts


def class_errors_seen(round_: Round, user: User | AnonymousUser) -> bool:
    """Return whether the person sees the errors by class of the pairs of a published round."""
    return Release.Part.BUNDLE in released_parts(round_) or may(user, round_.competition, Right.SEE_SECRETS)
