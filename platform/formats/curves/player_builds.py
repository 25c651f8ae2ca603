"""Adapter: builds a model of the curves format on this host."""

from __future__ import annotations

from functools import partial

from core.errors import Fault
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.players import QueryPlayer as EnginePlayer
from evaluation.domain.players import TrackName
from submissions.models import Player, Submission
from submissions.player_builds import (
    LogLine,
    checkout_of,
    discard_checkout,
    first_checkout,
    host_builder,
    rebuilt,
    require_images,
    row_of_commit,
)


def build(submission: Submission, on_log: LogLine) -> Player:
    """Build the commit of a submission; return the row of its player. Raise `Refusal` or `Fault`."""
    source = first_checkout(submission)
    return row_of_commit(submission, host_builder().build(source, on_log=on_log), tree_digest(source))


def ready_player(player: Player, on_log: LogLine) -> EnginePlayer:
    """Return a player as the engine starts it here.

    A player that Docker built is the image of its first build, fetched from the store if this host does not have it.
    Others are rebuilt from their files. Raise `HostFault` if this host lacks them, `Fault` for another digest.
    """
    builder = host_builder()
    if player.image:
        require_images(builder).fetch(player.image)
        return EnginePlayer(
            name=player.title, command=tuple(player.command), digest=player.digest, image=player.image, gpu=player.gpu,
            track=TrackName.MODEL,
        )  # fmt: skip
    if player.repository is None:
        raise Fault(f"{player} has no repository")
    for _ in range(2):
        source = checkout_of(player.repository, player.commit)
        built = rebuilt(source, partial(builder.build, on_log=on_log))
        if built.digest == player.digest:
            return built
        discard_checkout(player)  # something wrote into it, perhaps the player
    raise Fault(f"{player} was rebuilt with digest {built.digest}: the base image or the SDK has changed")
