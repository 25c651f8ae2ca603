"""The team that owns each player of a pool.

A player belongs to the team that submitted it first in this competition, so a copy gives no advantage. Bundled
baselines have no owner, even if a team submits a copy.
"""

from __future__ import annotations

from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.tracks import MODEL
from submissions.models import Submission


def owners(pool: Pool) -> dict[int, int]:
    """Return the entry that first submitted each player of the pool, without players that have no owner."""
    sent = Submission.objects.filter(player__in=pool.players.filter(baseline="")).order_by("-pk")
    return dict(sent.values_list("player", "repository__entry"))


def left_out(evaluation: Evaluation) -> frozenset[int]:
    """Return the pool's players that do not count in the score of `evaluation`: for an attack, models of its own team.

    A model's score also counts attacks of its own team: they can only lower it.
    """
    repository = evaluation.submission.repository
    if repository.track.name == MODEL:
        return frozenset()
    return frozenset(player for player, entry in owners(evaluation.pool).items() if entry == repository.entry_id)
