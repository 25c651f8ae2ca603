"""Publication of a round of the query format: the best of each track become its pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.errors import Refusal
from formats.query.leaderboards.services import set_pool
from formats.query.leaderboards.snapshots_and_freezes import take_snapshot
from formats.query.rounds.models import GonePlayer, RoundPool
from formats.query.rounds.preview import players_gone
from rounds.models import Round
from rounds.publishing.preview import Preview
from submissions.models import Submission

if TYPE_CHECKING:
    from accounts.models import User


def publish_pools(round_: Round, views: Sequence[Preview], by: User) -> None:
    """Make the best of each track its pool, and keep the previous leaderboards as snapshots."""
    gone = sorted(_gone(round_, views))
    GonePlayer.objects.bulk_create(GonePlayer(round=round_, player_id=player) for player in gone)
    for view in views:
        take_snapshot(track=view.track, reason=f"before {round_.title} was published")
        if not view.rows:
            continue
        if not view.pool_after:
            raise Refusal(
                f"the {view.track.name} pool would be empty: every entry is withdrawn or disqualified",
                fix="reinstate one of them, or cancel the round",
            )
        pool = set_pool(track=view.track, players=view.pool_after, reason=round_.title, by=by)
        RoundPool.objects.create(round=round_, pool=pool)


def _gone(round_: Round, views: Sequence[Preview]) -> set[int]:
    """Return the keys of the players that may join no pool now. Their submissions may be reinstated later."""
    placed = round_.entries.filter(place__isnull=False)
    standing = placed.filter(submission__disqualified_at=None).exclude(submission__state=Submission.State.WITHDRAWN)
    entrants = placed.exclude(player__in=standing.values("player")).values_list("player", flat=True)
    return {*entrants, *players_gone([player for view in views for player in view.pool_before])}
