"""Freeze a round: who is in it, and under which rules. Part of the services."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import transaction

from competitions.models import FreezeWindow, Track
from competitions.selectors import rules_in_force
from core import clock, faults
from core.errors import GauntletError, Refusal
from core.times import in_words
from rounds import salts
from rounds.engine_adapter import check_field, commitment_to_field
from rounds.entries import eligible_entries
from rounds.models import Round, RoundEntry
from rounds.transitions import lock_competition, locked, move, record_problem, require_organiser, require_state

if TYPE_CHECKING:
    from accounts.models import User

log = logging.getLogger(__name__)

_NEEDED = (Track.Name.MODEL, Track.Name.UNTARGETED)
"""Without these nothing can be ranked. A round goes on without targeted attacks."""


def freeze(*, round_: Round, by: User | None = None, reason: str = "") -> None:
    """Freeze the round with what was ready when its window began; `by` None is the site itself.

    The salted hash of who plays becomes public.

    It plays with however many there are: fewer than ten or five only make it shorter. A window that is over is an
    organiser's to decide upon, since what was ready when it began is known as before. Raises `Refusal` where `by` may
    not, the window is to come or (for the site) over, another round is under way, models or untargeted attacks are
    missing, or it is too large to be verified afterwards.
    """
    if by is not None:
        require_organiser(by, round_.competition)
    with transaction.atomic():
        lock_competition(round_)
        held = locked(round_)
        require_state(held, Round.State.PLANNED, act="frozen")
        _wait_for_results(held)
        _check_window(held.window, by)
        _check_no_other(held)
        entries = eligible_entries(held, held.window.starts_at)
        _check_sides(entries)
        held.rules = rules_in_force(held.competition)
        check_field(held, entries, held.rules)
        RoundEntry.objects.bulk_create(entries)
        held.field_salt = salts.new_salt()
        held.field_commitment = commitment_to_field(held, entries, held.field_salt)
        counts = Counter(entry.track.name for entry in entries)
        move(
            held, Round.State.FROZEN, "freeze", by=by, reason=reason, rules=held.rules.version, entries=counts,
            field_commitment=held.field_commitment,
        )  # fmt: skip
    round_.refresh_from_db()


def _wait_for_results(round_: Round) -> None:
    """Lock the tracks, as whoever ends an evaluation does: what ended before this moment is committed now."""
    tracks = Track.objects.select_for_update(no_key=True).filter(competition=round_.competition_id)
    list(tracks.order_by("pk").values_list("pk"))


def freeze_due() -> None:
    """Freeze every round whose window has begun; what keeps one from it is said once, on the round."""
    due = Round.objects.filter(state=Round.State.PLANNED, window__starts_at__lte=clock.database_now())
    for round_ in due.select_related("competition").order_by("pk"):
        try:
            freeze(round_=round_)
        except Exception as error:
            if not isinstance(error, Refusal):
                faults.report(log, error, "%s cannot be frozen", round_)
            record_problem(round_, words(error))


def words(error: Exception) -> str:
    """The problem and, where there is one, the fix, in one line. An error that nobody foresaw is told with its kind."""
    if isinstance(error, Refusal) and error.fix:
        return f"{error.problem}: {error.fix}"
    return str(error) if isinstance(error, GauntletError) else f"our side failed: {type(error).__name__}: {error}"


def _check_window(window: FreezeWindow, by: User | None) -> None:
    # by the clock, and under the lock, that say since when a submission is ready
    now = clock.database_now()
    if now < window.starts_at:
        raise Refusal(f"its freeze window begins only at {in_words(window.starts_at)}", fix="open it now")
    if by is None and now >= window.ends_at:
        raise Refusal(
            f"its freeze window was over at {in_words(window.ends_at)} before it could be frozen",
            fix="freeze it by hand, with what was ready when the window began, or cancel it and plan another",
        )


def _check_no_other(round_: Round) -> None:
    others = Round.objects.filter(competition=round_.competition_id, state__in=Round.UNDER_WAY)
    if other := others.first():
        raise Refusal(
            f"{other.title} is {other.get_state_display()}, and one round is under way at a time",
            fix="publish or cancel that one first",
        )


def _check_sides(entries: Sequence[RoundEntry]) -> None:
    owners: dict[str, dict[int | None, int]] = {track_name: {} for track_name in _NEEDED}
    for entry in sorted(entries, key=lambda entry: entry.order):
        if entry.track.name in owners:
            # of equal content the first that entered it is the owner: a copy makes no pair of two teams
            owners[entry.track.name].setdefault(entry.player_id, entry.submission.repository.entry_id)
    for track_name, there in owners.items():
        if not there:
            raise Refusal(
                f"no submission to the {track_name} track was ready when the window began",
                fix="cancel this round, and plan another for when there is one",
            )
    if len({team for of in owners.values() for team in of.values()}) == 1:
        raise Refusal(
            "all entries are of one team, or copies of what it sent, and no attack is scored by a model of its team",
            fix="cancel this round, and plan another for when a second team has entered",
        )
