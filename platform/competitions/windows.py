"""Freeze windows: planned ahead, opened, extended and ended by organisers. Part of the services.

Everything here locks the competition's row first, so that of two acts at once the second sees the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction

from competitions.models import Competition, FreezeWindow
from competitions.selectors import may_organise, standing_windows
from core import clock, events
from core.errors import Refusal
from core.models import Event
from core.times import in_words

if TYPE_CHECKING:
    from accounts.models import User

LONGEST_REASON = 200

LATE = timedelta(minutes=5)
"""A start that lies so little back means now: forms are filled in slowly, and give whole minutes."""


def plan_window(
    *, competition: Competition, starts_at: datetime, ends_at: datetime, reason: str, by: User
) -> FreezeWindow:
    """Put a freeze window on the calendar; `reason` is shown to teams.

    A start of a moment ago is now. Raises `Refusal` where `by` may not, where it would begin in the past or end before
    it begins, and where it overlaps another one.
    """
    with transaction.atomic():
        _require_organiser(competition, by)
        reason = _told(reason)
        window = FreezeWindow(competition=competition, starts_at=starts_at, ends_at=ends_at, reason=reason)
        check_plan(window)
        window.save()
        events.record("plan", window, by=by, reason=reason, **_times(window))
    return window


def check_plan(window: FreezeWindow) -> None:
    """Whether a window that has not begun can stand in the calendar as it is given; raises `Refusal`.

    A start of a moment ago becomes now. The answer holds until the transaction at hand is over.
    """
    _lock(window.competition)
    _check_unbegun(window)
    now = clock.database_now()
    if window.starts_at < now - LATE:
        raise Refusal(
            f"the freeze window would begin in the past, at {in_words(window.starts_at)}",
            fix="give a later start, or plan it and open it then",
        )
    window.starts_at = max(window.starts_at, now)
    if window.ends_at <= window.starts_at:
        raise Refusal("the freeze window ends before it begins", fix="give a later end or an earlier start")
    check_free(window)


def check_free(window: FreezeWindow) -> None:
    """Raise `Refusal` where the window, in what of it is to come, overlaps another one of its competition."""
    others = standing_windows(window.competition).exclude(pk=window.pk)
    begins = max(window.starts_at, clock.database_now())
    if other := others.filter(starts_at__lt=window.ends_at, ends_at__gt=begins).first():
        raise Refusal(
            f"it overlaps the freeze window {other.reason!r}, {in_words(other.starts_at)} to {in_words(other.ends_at)}",
            fix="give times outside it, or change that one",
        )


def is_known(competition: Competition, values: Mapping[str, Any]) -> bool:
    """Whether a window with these columns stands in the calendar, or stood there until an act changed it."""
    windows = competition.freeze_windows.all()
    if windows.filter(**values).exists():
        return True
    before = {f"data__before__{name}": value for name, value in _stand(FreezeWindow(**values)).items()}
    subjects = [events.name_of(window) for window in windows]
    return Event.objects.filter(subject__in=subjects, **before).exists()


def change_window(
    *, window: FreezeWindow, starts_at: datetime, ends_at: datetime, told: str, by: User, reason: str
) -> None:
    """Give a window that has not begun other times, and teams another reason for it: `told`; `reason` is for the log.

    Raises `Refusal` as `plan_window` does, and where it has begun.
    """
    with transaction.atomic():
        locked = _locked(window, by)
        before = _stand(locked)
        locked.starts_at, locked.ends_at, locked.reason = starts_at, ends_at, _told(told)
        check_plan(locked)
        locked.save()
        events.record("change", locked, by=by, reason=reason, **_times(locked), before=before)
    window.refresh_from_db()


def open_window(*, window: FreezeWindow, by: User, reason: str) -> None:
    """Let a planned window begin now instead of later. Raises `Refusal` where it has begun."""
    with transaction.atomic():
        locked, now = _locked(window, by), clock.database_now()
        if locked.starts_at <= now:
            raise Refusal(
                f"{locked} began at {in_words(locked.starts_at)}", fix="only one that is to come can be opened"
            )
        _change(locked, "open", by, reason, starts_at=now)
        check_free(locked)
    window.refresh_from_db()


def extend_window(*, window: FreezeWindow, ends_at: datetime, by: User, reason: str) -> None:
    """Let a window end later. Raises `Refusal` where it is over, or `ends_at` is not later than its end."""
    with transaction.atomic():
        locked = _locked(window, by)
        if ends_at <= locked.ends_at:
            raise Refusal(
                f"{locked} ends at {in_words(locked.ends_at)} already, not before {in_words(ends_at)}",
                fix="give a later end; End now ends it earlier",
            )
        _change(locked, "extend", by, reason, ends_at=ends_at)
        check_free(locked)
    window.refresh_from_db()


def end_window(*, window: FreezeWindow, by: User, reason: str) -> None:
    """Let a window that holds end now: submissions are accepted again. Raises `Refusal` where it has not begun."""
    with transaction.atomic():
        locked, now = _locked(window, by), clock.database_now()
        if now <= locked.starts_at:
            raise Refusal(f"{locked} has not begun", fix="change its times, or call it off")
        _change(locked, "end", by, reason, ends_at=now)
    window.refresh_from_db()


def call_off_window(*, window: FreezeWindow, by: User, reason: str) -> None:
    """What it was planned for does not take place: a window that holds ends now, one that is to come closes nothing.

    The row of the latter stays with its times, since others may stand on it. Raises `Refusal` where it is over.
    """
    with transaction.atomic():
        locked, now = _locked(window, by), clock.database_now()
        ends: dict[str, datetime] = {"ends_at": now} if locked.starts_at < now else {"called_off_at": now}
        _change(locked, "call_off", by, reason, **ends)
    window.refresh_from_db()


def _change(window: FreezeWindow, verb: str, by: User, reason: str, **times: datetime) -> None:
    before = _stand(window)
    for name, moment in times.items():
        setattr(window, name, moment)
    window.save(update_fields=list(times))
    events.record(verb, window, by=by, reason=reason, **_times(window), before=before)


def _locked(window: FreezeWindow, by: User) -> FreezeWindow:
    """The window as it is now, for an act of `by`; raises `Refusal` where it is over or called off: for good."""
    _require_organiser(window.competition, by)
    _lock(window.competition)
    locked = FreezeWindow.objects.select_related("competition").get(pk=window.pk)
    if locked.called_off_at is not None:
        raise Refusal(f"{locked} was called off at {in_words(locked.called_off_at)}", fix="plan another one")
    if locked.ends_at <= clock.database_now():
        raise Refusal(f"{locked} ended at {in_words(locked.ends_at)}", fix="plan another one")
    return locked


def _told(reason: str) -> str:
    reason = reason.strip()
    if not 1 <= len(reason) <= LONGEST_REASON:
        raise Refusal(
            f"a freeze window needs a reason of 1 to {LONGEST_REASON} characters", fix="tell teams why it is there"
        )
    return reason


def _check_unbegun(window: FreezeWindow) -> None:
    stands = FreezeWindow.objects.filter(pk=window.pk).first()
    if stands is not None and stands.starts_at <= clock.database_now():
        raise Refusal(f"{stands} has begun", fix="extend it or end it")


def _lock(competition: Competition) -> None:
    Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)


def _require_organiser(competition: Competition, by: User) -> None:
    if not may_organise(by, competition):
        raise Refusal("only organisers change freeze windows", fix="ask an organiser of the competition")


def _times(window: FreezeWindow) -> dict[str, Any]:
    return {"starts_at": window.starts_at.isoformat(), "ends_at": window.ends_at.isoformat()}


def _stand(window: FreezeWindow) -> dict[str, Any]:
    return _times(window) | {"reason": window.reason}
