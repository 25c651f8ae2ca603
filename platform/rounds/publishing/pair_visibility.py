"""Who sees what of the pairs of a round, whatever its format.

Everyone sees who met whom once the round is published. Where the first pairs would show the order of frozen
leaderboards, nobody does before these are released. Rows are public with the bundle, perturbed images with the
perturbed images, clean ones with the images. Organisers see everything.
"""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from competitions.permissions import may
from core.roles import Right
from rounds.formats import format_of
from rounds.models import Release, Round


def pairs_public(round_: Round, user: User | AnonymousUser) -> bool:
    """Return whether the person sees who met whom in a round.

    If the leaderboards were frozen before the round, its first pairs may show their secret order.
    """
    since = format_of(round_).secret_order_since(round_)
    hidden = since is not None and since <= round_.window.starts_at
    return (round_.state == Round.State.PUBLISHED and not hidden) or may(user, round_.competition, Right.SEE_SECRETS)


def images_seen(round_: Round, user: User | AnonymousUser, parts: Collection[str] | None = None) -> bool:
    """Return whether the person sees rows, clean and perturbed images of every pair of a published round.

    After their release, and organisers always. `parts`: those released, if known.
    """
    if round_.state != Round.State.PUBLISHED or not pairs_public(round_, user):
        return False
    known = released_parts(round_) if parts is None else parts
    needed = (Release.Part.BUNDLE, Release.Part.IMAGES, Release.Part.PERTURBED)
    return all(part in known for part in needed) or may(user, round_.competition, Right.SEE_SECRETS)


def released_parts(round_: Round) -> set[str]:
    """Return the names of the public parts of a round."""
    return set(round_.releases.filter(withdrawn_at=None).values_list("part", flat=True))
