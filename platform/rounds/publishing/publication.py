"""Publication of a round's result, with what its format puts into force, and a new validation set."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q

from competitions.freeze_windows import end_window
from competitions.models import FreezeWindow
from competitions.permissions import require
from competitions.validation_set_renewal import Renewal, draw_validation_set, keep_validation_set
from core import clock, event_log, platform_error_report
from core.database_retry import FAILURES
from core.errors import HostFault, Refusal, RefusedInState
from core.roles import Right
from rounds.formats import format_of
from rounds.models import Round
from rounds.planning.freeze import words
from rounds.publishing.preview import Preview, preview_digest
from rounds.running.transitions import lock_competition, locked, move, require_possible
from submissions.models import Submission

if TYPE_CHECKING:
    from accounts.models import User

log = logging.getLogger(__name__)


def publish(
    *, round_: Round, by: User, reason: str = "", previewed: str | None = None, ends_window: bool = False
) -> None:
    """Publish the result, and put into force what the preview shows, as new pools: both or neither.

    `previewed` is the `preview_digest` that a person confirmed; anything else is rejected. None skips the check.
    `ends_window` also ends the freeze window of the round, where it is open.

    From then on submissions are measured on new validation samples if the competition has them; if it has none left,
    the round says so. Raise `Refusal`.
    """
    require(by, round_.competition, Right.RUN)
    renewal = _drawn(round_)
    with transaction.atomic():
        lock_competition(round_)
        current = locked(round_)
        require_possible(current, "publish")
        round_format = format_of(current)
        # a later withdrawal or disqualification takes effect after what the preview shows is in force
        placed = current.entries.filter(place__isnull=False)
        opponents = round_format.future_opponents(current.competition)
        concerned = Q(pk__in=placed.values("submission")) | Q(player__in=opponents.values("pk"))
        list(Submission.objects.select_for_update(no_key=True).filter(concerned).order_by("pk").values_list("pk"))
        views = round_format.preview(current)
        _check_seen(current, views, previewed)
        round_format.publish(current, views, by)
        move(current, "publish", by=by, reason=reason, outcome=current.outcome)
        _renew(current, renewal)
        if ends_window and _is_open(current.window):
            end_window(window=current.window, by=by, reason=reason)
    round_.refresh_from_db()


def _is_open(window: FreezeWindow) -> bool:
    return window.called_off_at is None and window.starts_at < clock.database_now() < window.ends_at


def _check_seen(current: Round, views: Sequence[Preview], previewed: str | None) -> None:
    if previewed is not None and previewed != preview_digest(current, views):
        raise RefusedInState(
            f"the preview of {current.title} is out of date: an entry was disqualified, reinstated or withdrawn, an "
            "audit was overridden, or a pool was changed",
            state=current.state,
            fix="check the preview again, then publish",
        )


def _drawn(round_: Round) -> Renewal | Exception | None:
    """Return the next validation set, or the error that prevents it; None if the competition does not renew it.

    Runs before the transaction, since it reads many images; unused ones in the store are harmless. Raise what the
    database raises: the result is published later.
    """
    current = Round.objects.select_related("competition").get(pk=round_.pk)
    if current.state != Round.State.SCORED or not current.competition.new_validation_set:
        return None
    try:
        try:
            return draw_validation_set(current.competition)
        except HostFault:  # a store that fails once would cost the competition its new samples
            return draw_validation_set(current.competition)
    except FAILURES:
        raise
    except Exception as error:  # any other error: a missing data set must not block the result
        return error


def _renew(current: Round, renewal: Renewal | Exception | None) -> None:
    """Put the new validation set into force with the pools. The result is published with or without one."""
    try:
        if isinstance(renewal, Exception):
            raise renewal
        if renewal is not None:
            keep_validation_set(renewal)
    except FAILURES:
        raise
    except Exception as error:
        why = words(error)
        if not isinstance(error, Refusal):
            platform_error_report.report(log, error, "%s: no new validation set", current)
        current.problem = f"No new validation set was drawn, and the one in force stays: {why}"
        current.save(update_fields=["problem"])
        event_log.record("keep_validation_set", current, reason=why)
