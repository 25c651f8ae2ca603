"""Titles of submissions that were hidden after the outcome of their round was made.

A bundle is signed, so a released one stays as it is. Before a release, the outcome is made again without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import QuerySet

from core import event_log, object_store
from core.errors import Refusal
from rounds.formats import format_of
from rounds.models import Round, RoundEntry
from rounds.planning.entries import frozen
from rounds.running.transitions import lock_competition, locked

if TYPE_CHECKING:
    from accounts.models import User


def leave_out_hidden_titles(round_: Round, by: User) -> None:
    """Make the outcome of a published round again if it holds the title of a hidden submission.

    Commitments and numbers do not depend on titles, so they stay; the hash of the outcome changes. A large round takes
    seconds. Raise `Refusal` if the outcome changes meanwhile.
    """
    entries = frozen(round_)
    hidden = [entry for entry in entries if entry.submission.hidden_at and not entry.title_hidden]
    if not hidden:
        return
    for entry in hidden:
        entry.title_hidden = True
    outcome = object_store.put_open(format_of(round_).outcome(round_, entries))
    with transaction.atomic():
        lock_competition(round_)
        current = locked(round_)
        if current.outcome != round_.outcome:
            raise Refusal(f"the outcome of {round_.title} changed meanwhile", fix="release it again")
        RoundEntry.objects.filter(pk__in=[entry.pk for entry in hidden]).update(title_hidden=True)
        current.outcome = outcome
        current.save(update_fields=["outcome"])
        event_log.record("leave_out_titles", current, by=by, outcome=outcome, before=round_.outcome)
    round_.refresh_from_db()


def entries_with_hidden_titles(round_: Round) -> QuerySet[RoundEntry]:
    """Return the entries whose titles are hidden, and stand in the outcome of the round."""
    return RoundEntry.objects.filter(round=round_, title_hidden=False, submission__hidden_at__isnull=False)
