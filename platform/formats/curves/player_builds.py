"""Adapter: builds a model of the curves format on this host."""

from __future__ import annotations

from pathlib import Path

from core.errors import Fault
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.players import QueryPlayer as EnginePlayer
from submissions.models import Player, Submission
from submissions.player_builds import (
    LogLine,
    checkout_of,
    first_checkout,
    host_builder,
    player_as_built,
    row_of_commit,
)


def build(submission: Submission, on_log: LogLine) -> Player:
    """Build the commit of a submission; return the row of its player. Raise `Refusal` or `Fault`."""
    source = first_checkout(submission)
    built = host_builder(repository=submission.repository).build(source, on_log=on_log)
    return row_of_commit(submission, built, tree_digest(source))


def ready_player(player: Player, on_log: LogLine) -> EnginePlayer:
    """Return a player as the engine starts it here; see `player_as_built`."""
    return player_as_built(player, host_builder(), _source_of, on_log)


def _source_of(player: Player) -> Path:
    if player.repository is None:
        raise Fault(f"{player} has no repository")
    return checkout_of(player.repository, player.commit)
