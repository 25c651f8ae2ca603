"""Apply the result of a round: its best become the pools. Part of the services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from core.errors import Refusal
from leaderboards.services import set_pool, take_snapshot
from rounds.life import locked, move, require_organiser, require_state
from rounds.models import Round
from rounds.previews import preview
from submissions.models import Submission

if TYPE_CHECKING:
    from accounts.models import User


def publish(*, round: Round, by: User, reason: str = "") -> None:
    """Make the best of each track its pool, as the preview shows it, and the result public: both or neither.

    The boards as they were are kept as snapshots; from then on everybody is measured against the new pools. Raises
    `Refusal`.
    """
    require_organiser(by, round.competition)
    with transaction.atomic():
        held = locked(round)
        require_state(held, Round.State.SCORED, act="published")
        # whoever is withdrawn or disqualified from here on is so only once these pools are in force
        placed = held.entries.filter(place__isnull=False).values("submission")
        list(Submission.objects.select_for_update(no_key=True).filter(pk__in=placed).order_by("pk").values_list("pk"))
        pools = {}
        for view in preview(held):
            take_snapshot(track=view.track, reason=f"before {held.title} was published")
            if not view.rows:
                continue
            if not view.pool_after:
                raise Refusal(
                    f"nobody is left for the pool of the {view.track.kind} track: all are withdrawn or disqualified",
                    fix="reinstate one of them, or cancel the round",
                )
            pool = set_pool(track=view.track, players=view.pool_after, reason=held.title, by=by)
            pools[view.track.kind] = pool.number
        move(held, Round.State.PUBLISHED, "publish", by=by, reason=reason, outcome=held.outcome, pools=pools)
    round.refresh_from_db()
