"""The freeze of a round: its entries and its rules."""

from __future__ import annotations

import logging
from collections import Counter
from copy import copy
from typing import TYPE_CHECKING

from django.db import transaction

from competitions.models import FreezeWindow, RulesVersion, Track
from competitions.permissions import require, require_not_archived
from competitions.selectors import rules_in_force
from core import clock, platform_error_report
from core.errors import GauntletError, Refusal, RefusedForNow, RefusedInState
from core.roles import Right
from core.time_format import in_words
from rounds.formats import format_of
from rounds.models import Round, RoundEntry
from rounds.planning import commitment_salts
from rounds.planning.entries import eligible_entries
from rounds.running.transitions import lock_competition, locked, move, record_problem, require_possible

if TYPE_CHECKING:
    from accounts.models import User

log = logging.getLogger(__name__)


def freeze(*, round_: Round, by: User | None = None, reason: str = "") -> None:
    """Freeze the round with the submissions that were ready when its window began; `by` None is the site itself.

    The salted hash of the entries becomes public. Any number of entries is enough: fewer than ten or five only make the
    round shorter. After the end of the window only an organiser can freeze: what was ready at its start is still known.
    Raise `Refusal` where `by` is not allowed, the window has not begun or (for the site) has ended, another round is
    under way, one side has no player, or the round is too large to be verified afterwards.
    """
    if by is not None:
        require(by, round_.competition, Right.RUN)
    with transaction.atomic():
        lock_competition(round_)
        current = locked(round_)
        require_possible(current, "freeze")
        # scoring locks the tracks, too: everything that ended before this moment is committed now
        tracks = Track.objects.select_for_update(no_key=True).filter(competition=current.competition_id)
        list(tracks.order_by("pk").values_list("pk"))
        entries, rules = _checked(current, by)
        round_format = format_of(current)
        current.rules = rules
        RoundEntry.objects.bulk_create(entries)
        round_format.freeze(current, entries)
        current.field_salt = commitment_salts.new_salt()
        current.field_commitment = round_format.commitment_to_field(current, entries, current.field_salt)
        counts = Counter(entry.track.name for entry in entries)
        move(
            current, "freeze", by=by, reason=reason, rules=rules.version, entries=counts,
            field_commitment=current.field_commitment,
        )  # fmt: skip
    round_.refresh_from_db()


def refusal_of_freeze(round_: Round, by: User) -> str:
    """Return why a person cannot freeze a planned round now, in one line; "" if they can. Nothing is locked."""
    try:
        require_not_archived(round_.competition)
        _checked(copy(round_), by)
    except GauntletError as error:
        return words(error)
    return ""


def _checked(round_: Round, by: User | None) -> tuple[list[RoundEntry], RulesVersion]:
    """Return the entries and the rules of a freeze now, and set the format of its bundle. Raise `Refusal`."""
    _check_window(round_.window, by)
    _check_no_other(round_)
    entries = eligible_entries(round_, round_.window.starts_at)
    round_format = format_of(round_)
    round_.bundle_format = round_format.bundle_format
    round_format.check_sides(round_, entries)
    rules = rules_in_force(round_.competition)
    round_format.check_field(round_, entries, rules)
    return entries, rules


def freeze_due() -> None:
    """Freeze every round whose window has begun, unless its competition is archived; record a problem once, on it."""
    planned = Round.objects.filter(state=Round.State.PLANNED, competition__archived_at=None)
    due = planned.filter(window__starts_at__lte=clock.database_now())
    for round_ in due.select_related("competition").order_by("pk"):
        try:
            freeze(round_=round_)
        except Exception as error:
            if not isinstance(error, Refusal):
                platform_error_report.report(log, error, "%s cannot be frozen", round_)
            record_problem(round_, words(error))


def words(error: Exception) -> str:
    """Return problem and fix in one line. Unexpected exceptions are shown with their type."""
    if isinstance(error, Refusal) and error.fix:
        return f"{error.problem}: {error.fix}"
    return str(error) if isinstance(error, GauntletError) else f"platform error: {type(error).__name__}: {error}"


def _check_window(window: FreezeWindow, by: User | None) -> None:
    # by the same clock, and under the same lock, as the time at which a submission became ready
    now = clock.database_now()
    if now < window.starts_at:
        problem = f"its freeze window begins at {in_words(window.starts_at)}"
        raise RefusedForNow(problem, accepted_from=window.starts_at, fix="open it now")
    if by is None and now >= window.ends_at:
        raise Refusal(
            f"its freeze window ended at {in_words(window.ends_at)} before it was frozen",
            fix="freeze it manually, with what was ready when the window began, or cancel it and plan another round",
        )


def _check_no_other(round_: Round) -> None:
    others = Round.objects.filter(competition=round_.competition_id, state__in=Round.UNDER_WAY)
    if other := others.first():
        raise RefusedInState(
            f"{other.title} is {other.get_state_display()}, and only one round can be under way",
            state=other.state,
            fix="publish or cancel that one first",
        )
