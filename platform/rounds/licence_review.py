"""Whether an entry of a final may win prizes, where a licence must be judged by a person. Part of the services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import transaction

from core import events, object_store
from core.errors import Refusal
from rounds.engine_adapter import facts_of, frozen, outcome_of, prizes_of
from rounds.models import Round, RoundEntry
from rounds.transitions import locked, require_organiser, require_reason, require_state

if TYPE_CHECKING:
    from accounts.models import User


def confirm_licence(*, entries: Sequence[RoundEntry], by: User, reason: str) -> None:
    """Let entries of a round win prizes whose licences were not known to be open source: all or none of them.

    Raises `Refusal`.
    """
    _judge(entries, by, require_reason(reason, "a confirmed licence"), verb="confirm_licence", eligible=True)


def refuse_licence(*, entries: Sequence[RoundEntry], by: User, reason: str) -> None:
    """Let entries of a round win no prizes because of their licences; they are ranked all the same. All or none.

    Raises `Refusal`.
    """
    _judge(entries, by, require_reason(reason, "a refused licence"), verb="refuse_licence", eligible=False)


def _judge(entries: Sequence[RoundEntry], by: User, reason: str, *, verb: str, eligible: bool) -> None:
    round_ = _round_of(entries)
    require_organiser(by, round_.competition)
    _check(round_, entries, eligible)
    field = frozen(round_)
    seen = prizes_of(field)
    chosen = {entry.pk for entry in entries}
    because = "" if eligible else f"its licence was refused: {reason}"[:200]
    for entry in field:
        if entry.pk in chosen:
            entry.eligible, entry.ineligible_because = eligible, because
    # it stands in the outcome who may win prizes; made before the lock, as it takes long
    outcome = (
        object_store.put(outcome_of(round_, facts_of(round_), field)) if round_.state == Round.State.SCORED else ""
    )
    with transaction.atomic():
        held = locked(round_)
        if held.state != round_.state or prizes_of(frozen(held)) != seen:
            raise Refusal(f"{round_.title} changed while its licences were judged", fix="look again, then do it again")
        RoundEntry.objects.filter(pk__in=chosen).update(eligible=eligible, ineligible_because=because)
        held.outcome = outcome
        held.save(update_fields=["outcome"])
        for entry in entries:
            events.record(verb, held, by=by, reason=reason, entry=entry.pk, submission=entry.submission_id)
    for entry in entries:
        entry.refresh_from_db()


def _round_of(entries: Sequence[RoundEntry]) -> Round:
    rounds = {entry.round_id for entry in entries}
    if len(rounds) != 1:
        raise Refusal("the entries are of several rounds", fix="choose those of one round at a time")
    return Round.objects.select_related("competition").get(pk=rounds.pop())


def _check(round_: Round, entries: Sequence[RoundEntry], eligible: bool) -> None:
    require_state(round_, *Round.UNDER_WAY, act="judged by its licences")
    if round_.kind != Round.Kind.FINAL:
        raise Refusal("only a final has prizes", fix="judge the licence in the final")
    for entry in entries:
        if entry.submission.repository.entry.ineligible_for_prizes:
            raise Refusal(
                f"the team of {entry.submission} takes part without prizes, whatever its licence",
                fix="change that on its entry first",
            )
    there = round_.entries.filter(pk__in=[entry.pk for entry in entries], eligible=eligible)
    # by the flag, not by the text: a second person sees that it was done
    if done := there.select_related("submission").first():
        raise Refusal(
            f"{done.submission} is {'eligible' if eligible else 'ineligible'} already", fix="leave it out: it is done"
        )
