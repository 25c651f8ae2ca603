"""Whose the players of a pool are. Part of the selectors.

A player belongs to the team that sent it first in this competition, so nobody gains by sending a copy of it. Bundled
baselines belong to nobody, whoever sends a copy of one.
"""

from __future__ import annotations

from competitions.models import Track
from leaderboards.models import Evaluation, Pool
from submissions.models import Submission


def owners(pool: Pool) -> dict[int, int]:
    """By player of the pool the entry that sent it first; players that are nobody's are left out."""
    sent = Submission.objects.filter(player__in=pool.players.filter(baseline="")).order_by("-pk")
    return dict(sent.values_list("player", "repository__entry"))


def left_out(evaluation: Evaluation) -> frozenset[int]:
    """The players of the pool that do not count in the score of `evaluation`: of an attack, the models of its own team.

    A model's score counts its own team's attacks, too: they can only lower it.
    """
    repository = evaluation.submission.repository
    if repository.track.name == Track.Name.MODEL:
        return frozenset()
    return frozenset(player for player, entry in owners(evaluation.pool).items() if entry == repository.entry_id)
