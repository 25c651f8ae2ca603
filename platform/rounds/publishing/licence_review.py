"""Organisers' review of licences: whether an entry of a final may win prizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import transaction

from competitions.permissions import require
from core import clock, event_log, object_store
from core.errors import Refusal
from core.roles import Right
from rounds.formats import format_of
from rounds.models import Round, RoundEntry
from rounds.planning.entries import frozen, prizes_of, without_prizes
from rounds.running.transitions import locked, require_reason, require_state

if TYPE_CHECKING:
    from accounts.models import User


def confirm_licence(*, entries: Sequence[RoundEntry], by: User, reason: str) -> None:
    """Make entries of a round eligible whose licences were not known to be open source: all or none of them.

    Raise `Refusal`.
    """
    _judge(entries, by, require_reason(reason, "a confirmed licence"), verb="confirm_licence", eligible=True)


def refuse_licence(*, entries: Sequence[RoundEntry], by: User, reason: str) -> None:
    """Make entries of a round ineligible for prizes because of their licences; they stay ranked. All or none of them.

    Raise `Refusal`.
    """
    _judge(entries, by, require_reason(reason, "a refused licence"), verb="refuse_licence", eligible=False)


def _judge(entries: Sequence[RoundEntry], by: User, reason: str, *, verb: str, eligible: bool) -> None:
    round_ = _round_of(entries)
    require(by, round_.competition, Right.JUDGE)
    _check(round_, entries, eligible)
    field = frozen(round_)
    seen = prizes_of(field)
    chosen = {entry.pk for entry in entries}
    reviewed = [entry for entry in field if entry.pk in chosen]
    for entry in reviewed:
        refused = without_prizes(entry.submission) or f"its licence was refused: {reason}"[:200]
        entry.eligible, entry.ineligible_because = eligible, "" if eligible else refused
    # the outcome states eligibility; computed before the lock, as it is slow
    scored = round_.state == Round.State.SCORED
    outcome = object_store.put_open(format_of(round_).outcome(round_, field)) if scored else ""
    with transaction.atomic():
        current = locked(round_)
        if current.state != round_.state or prizes_of(frozen(current)) != seen:
            raise Refusal(f"{round_.title} changed during the licence review", fix="check the entries, then try again")
        confirmed_at = clock.database_now() if eligible else None
        for entry in reviewed:
            RoundEntry.objects.filter(pk=entry.pk).update(
                eligible=eligible, ineligible_because=entry.ineligible_because, licence_confirmed_at=confirmed_at
            )
        current.outcome = outcome
        current.save(update_fields=["outcome"])
        for entry in entries:
            event_log.record(verb, current, by=by, reason=reason, entry=entry.pk, submission=entry.submission_id)
    for entry in entries:
        entry.refresh_from_db()


def _round_of(entries: Sequence[RoundEntry]) -> Round:
    rounds = {entry.round_id for entry in entries}
    if len(rounds) != 1:
        raise Refusal("the entries belong to several rounds", fix="choose entries of one round")
    return Round.objects.select_related("competition").get(pk=rounds.pop())


def _check(round_: Round, entries: Sequence[RoundEntry], eligible: bool) -> None:
    require_state(round_, *Round.UNDER_WAY, act="changed by a licence review")
    if round_.kind != Round.Kind.FINAL:
        raise Refusal("only a final has prizes", fix="review the licence in the final")
    # one that the freeze did not know may still be refused
    for entry in entries if eligible else ():
        if entry.submission.baseline_at is not None:
            raise Refusal(f"{entry.submission} is a baseline, and wins no prize", fix="remove it from the selection")
        if entry.submission.repository.entry.ineligible_for_prizes:
            raise Refusal(
                f"the team of {entry.submission} takes part without prizes, whatever its licence",
                fix="change the entry of the team first",
            )
    reviewed = round_.entries.filter(pk__in=[entry.pk for entry in entries], eligible=eligible)
    # by the flag, not by the text, so that a second reviewer sees that it was done
    if done := reviewed.select_related("submission").first():
        raise Refusal(
            f"{done.submission} is already {'eligible' if eligible else 'ineligible'}",
            fix="remove it from the selection",
        )
