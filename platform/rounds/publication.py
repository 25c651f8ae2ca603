"""Apply the result of a round: its best become the pools, and a new validation set is drawn. Part of the services."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import transaction

from competitions.services import draw_validation_set, keep_validation_set
from competitions.validation_renewal import Renewal
from core import events, faults
from core.errors import Refusal
from leaderboards.services import set_pool, take_snapshot
from rounds.freeze import words
from rounds.models import Round
from rounds.preview import Preview, preview, preview_digest
from rounds.transitions import lock_competition, locked, move, require_organiser, require_state
from submissions.models import Submission

if TYPE_CHECKING:
    from accounts.models import User

log = logging.getLogger(__name__)


def publish(*, round_: Round, by: User, reason: str = "", previewed: str | None = None) -> None:
    """Make the best of each track its pool, as the preview shows it, and the result public: both or neither.

    `previewed` is the `preview_digest` of what a person saw and confirmed; nothing else is applied. None: nobody did.

    The boards as they were are kept as snapshots; from then on everybody is measured against the new pools, and on new
    validation samples where the competition wants them and has them. Where it has none, the round says so. Raises
    `Refusal`.
    """
    require_organiser(by, round_.competition)
    renewal = _drawn(round_)
    with transaction.atomic():
        lock_competition(round_)
        held = locked(round_)
        require_state(held, Round.State.SCORED, act="published")
        # whoever is withdrawn or disqualified from here on is so only once these pools are in force
        placed = held.entries.filter(place__isnull=False).values("submission")
        list(Submission.objects.select_for_update(no_key=True).filter(pk__in=placed).order_by("pk").values_list("pk"))
        pools = {}
        views = preview(held)
        _check_seen(held, views, previewed)
        for view in views:
            take_snapshot(track=view.track, reason=f"before {held.title} was published")
            if not view.rows:
                continue
            if not view.pool_after:
                raise Refusal(
                    f"nobody is left for the pool of the {view.track.name} track: all are withdrawn or disqualified",
                    fix="reinstate one of them, or cancel the round",
                )
            pool = set_pool(track=view.track, players=view.pool_after, reason=held.title, by=by)
            pools[view.track.name] = pool.number
        move(held, Round.State.PUBLISHED, "publish", by=by, reason=reason, outcome=held.outcome, pools=pools)
        _renew(held, renewal)
    round_.refresh_from_db()


def _check_seen(held: Round, views: Sequence[Preview], previewed: str | None) -> None:
    if previewed is not None and previewed != preview_digest(held, views):
        raise Refusal(
            f"what would be applied of {held.title} is no longer what its preview showed: somebody was disqualified, "
            "reinstated, withdrawn or kept since then, or a pool was changed",
            fix="look at the preview again, then apply it",
        )


def _drawn(round_: Round) -> Renewal | Exception | None:
    """The next validation set, or what keeps it from being drawn; None where none is wanted.

    Before the transaction, since it reads many images; what is not kept then is harmless in the store.
    """
    held = Round.objects.select_related("competition").get(pk=round_.pk)
    if held.state != Round.State.SCORED or not held.competition.new_validation_set:
        return None
    try:
        return draw_validation_set(held.competition)
    except Exception as error:  # whatever it is, a data set that is not there keeps no result back
        return error


def _renew(held: Round, renewal: Renewal | Exception | None) -> None:
    """Let the new validation set come into force with the pools. A result is applied whether or not there is one."""
    try:
        if isinstance(renewal, Exception):
            raise renewal
        if renewal is not None:
            keep_validation_set(renewal)
    except Exception as error:
        why = words(error)
        if not isinstance(error, Refusal):
            faults.report(log, error, "%s: no new validation set", held)
        held.problem = f"No new validation set was drawn, and the one in force stays: {why}"
        held.save(update_fields=["problem"])
        events.record("keep_validation_set", held, reason=why)
