"""Overrides of failed audits, by which organisers keep a model in its round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q

from competitions.permissions import require
from core import event_log, worker_notifications
from core.errors import Refusal
from core.roles import Right
from formats.query.rounds.models import Decision
from formats.query.rounds.round_advancement import RESULT
from formats.query.rounds.round_as_engine_values import facts_of
from formats.query.tracks import MODEL, TARGETED, UNTARGETED
from rounds.models import Round, RoundEntry
from rounds.running.transitions import locked, move, require_reason, require_state

if TYPE_CHECKING:
    from accounts.models import User

OVERRIDABLE = (Round.State.PLAYING, Round.State.PAUSED, Round.State.SCORED)
"""States of a round in which an organiser may keep a model despite failed audits."""

_EMPTY = {**dict.fromkeys(RESULT), **dict.fromkeys(("separated_from_next", "not_broken", "inconsistent"), False)}


def override_audit(*, entry: RoundEntry, by: User, reason: str) -> None:
    """Keep a model in its round despite failed audits; the bundle publishes the reason.

    If the model has left already, its last stage and all later ones are decided again from the played matches, and a
    scored round plays what is missing. Raise `Refusal`, also for a model without a failed audit.
    """
    require(by, entry.round.competition, Right.JUDGE)
    reason = require_reason(reason, "an audit override")
    if entry.track.name != MODEL:
        raise Refusal("attacks are not audited", fix="choose a model")
    # before the lock, as it is slow: a failed audit stays failed
    if not any(model == entry.player.digest for model, _ in facts_of(entry.round).failed_audits):
        raise Refusal(
            f"{entry.submission.title} has not failed an audit in this round", fix="no action needed: it stays in"
        )
    with transaction.atomic():
        current = locked(entry.round)
        require_state(current, *OVERRIDABLE, act="changed")
        shared = current.entries.filter(player=entry.player_id)
        if shared.exclude(audit_override_reason="").exists():
            raise Refusal(f"the audit of {entry.submission.title} is already overridden", fix="no action needed")
        shared.update(audit_override_reason=reason)
        dropped = _drop_stages(current, entry.player_id)
        if current.state == Round.State.SCORED:
            current.entries.update(**_EMPTY)
            current.warnings.all().delete()
            current.round_matches.update(samples=None, median=None, held=None)
            current.outcome = ""
            move(current, "override_audit", by=by, reason=reason, entry=entry.pk, stages=dropped)
        else:
            event_log.record("override_audit", current, by=by, reason=reason, entry=entry.pk, stages=dropped)
        worker_notifications.notify("rounds.advance")
    entry.refresh_from_db()


def _drop_stages(round_: Round, player: int) -> list[str]:
    """Delete the stage that the model left and those after it, to be decided again; return their names."""
    left = (
        Decision.objects.filter(stage__round=round_, player=player, inconsistent=True).select_related("stage").first()
    )
    if left is None:
        return []
    after = Q(bracket=left.stage.bracket, number__gte=left.stage.number)
    if left.stage.bracket == UNTARGETED:
        after |= Q(bracket=TARGETED)
    stages = round_.stages.filter(after)
    keys = stages.order_by("-bracket", "number").values_list("bracket", "number")
    names = [f"{bracket} {number}" for bracket, number in keys]
    stages.delete()
    return names
