"""Which submissions have lost the image that plays them: it was removed long after they were superseded."""

from __future__ import annotations

from django.conf import settings

from core import clock
from core.errors import HostFault
from submissions.image_layers import image_is_stored
from submissions.models import Player, Submission
from submissions.selectors import ready_submissions


def image_is_removed(submission: Submission) -> bool:
    """Return True if the store answers that it does not have the image of a submission.

    It is asked only about old ones. False where it does not answer, and where players have no image.
    """
    player = submission.player
    return player is not None and _may_be_removed(player) and image_is_gone(player)


def image_is_gone(player: Player) -> bool:
    """Return True if the store answers that it lacks the image of a player, which has one, or a layer of it."""
    try:
        return not image_is_stored(player.image)
    except HostFault:  # not known: the worker that needs it will tell
        return False


def has_to_be_pushed_again(submission: Submission) -> bool:
    """Return True if a submission is the newest of its team on its track, and its image is gone."""
    if submission.player is None or not _may_be_removed(submission.player):
        return False  # as for most, without a query
    newest = ready_submissions().filter(repository=submission.repository_id).order_by("-pk").first()
    return newest == submission and image_is_removed(submission)


def _may_be_removed(player: Player) -> bool:
    return bool(player.image) and player.created_at <= clock.now() - settings.IMAGES_KEPT
