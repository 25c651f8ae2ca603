"""Whether an entry of a final may win prizes, where a licence must be judged by a person. Part of the services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from core import events, store
from core.errors import Refusal
from rounds.facts import facts_of, outcome_of
from rounds.life import locked, require_organiser, require_reason, require_state
from rounds.models import Round, RoundEntry

if TYPE_CHECKING:
    from accounts.models import User


def confirm_licence(*, entry: RoundEntry, by: User, reason: str) -> None:
    """Let an entry win prizes whose licence was not known to be open source. Raises `Refusal`."""
    _judge(entry, by, require_reason(reason, "a confirmed licence"), verb="confirm_licence", eligible=True)


def refuse_licence(*, entry: RoundEntry, by: User, reason: str) -> None:
    """Let an entry win no prizes because of its licence; it is ranked all the same. Raises `Refusal`."""
    _judge(entry, by, require_reason(reason, "a refused licence"), verb="refuse_licence", eligible=False)


def _judge(entry: RoundEntry, by: User, reason: str, *, verb: str, eligible: bool) -> None:
    require_organiser(by, entry.round.competition)
    with transaction.atomic():
        held = locked(entry.round)
        require_state(held, *Round.UNDER_WAY, act="judged by its licences")
        if held.kind != Round.Kind.FINAL:
            raise Refusal("only a final has prizes", fix="judge the licence in the final")
        if entry.submission.repository.entry.ineligible_for_prizes:
            raise Refusal(
                "the team takes part without prizes, whatever its licence", fix="change that on its entry first"
            )
        because = "" if eligible else f"its licence was refused: {reason}"[:200]
        # by the flag, not by the text: a second person sees that it was done
        judged = RoundEntry.objects.filter(pk=entry.pk, eligible=not eligible)
        if not judged.update(eligible=eligible, ineligible_because=because):
            raise Refusal(
                f"{entry.submission} is {'eligible' if eligible else 'ineligible'} already",
                fix="there is nothing to do",
            )
        if held.state == Round.State.SCORED:
            # it stands in the outcome who may win prizes
            held.outcome = store.put(outcome_of(held, facts_of(held)))
            held.save(update_fields=["outcome"])
        events.record(verb, held, by=by, reason=reason, entry=entry.pk, submission=entry.submission_id)
    entry.refresh_from_db()
