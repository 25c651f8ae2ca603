"""Pictures of what attacks made in a round, for people who see all images of it."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from formats.transfer.rounds.round_advancement import frozen_tournament
from formats.transfer.tournaments.attack_pictures import picture
from rounds.models import Round
from rounds.publishing.pair_visibility import images_seen
from submissions.models import Player


def round_picture(played: Round, attack: int, sample: int, name: str, user: User | AnonymousUser) -> bytes | None:
    """Return a picture as PNG; None while the person does not see the images, or the attack is hidden.

    Raise `Refusal` if the attack made no such image.
    """
    hidden = Player.objects.filter(pk=attack).exclude(given_title="")
    if not images_seen(played, user) or hidden.exists():
        return None
    return picture(frozen_tournament(played), attack, sample, name)
