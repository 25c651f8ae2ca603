"""Freeze windows: plan, open, extend, end and call off.

Every function locks the competition's row first, so that of two concurrent calls the second sees the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction

from competitions.models import Competition, FreezeWindow
from competitions.permissions import require, require_not_archived
from competitions.selectors import effective_windows
from core import clock, event_log
from core.calendar_range import require_in_calendar
from core.errors import Refusal, RefusedInState
from core.roles import Right
from core.time_format import in_words

if TYPE_CHECKING:
    from accounts.models import User

MAX_REASON_CHARACTERS = 200

START_TOLERANCE = timedelta(minutes=5)
"""A start at most this long ago counts as now: filling in a form takes time, and forms give whole minutes."""


def plan_window(
    *, competition: Competition, starts_at: datetime, ends_at: datetime, reason: str, by: User | None
) -> FreezeWindow:
    """Plan a freeze window; `reason` is shown to teams, and `by` is None where an operator imports a file.

    A start within `START_TOLERANCE` counts as now. Raise `Refusal` if `by` is not an organiser, if the window begins in
    the past, ends before it begins, or overlaps another one.
    """
    with transaction.atomic():
        if by is not None:
            require(by, competition, Right.RUN)
        reason = _checked_reason(reason)
        window = FreezeWindow(competition=competition, starts_at=starts_at, ends_at=ends_at, reason=reason)
        check_plan(window)
        window.save()
        event_log.record("plan", window, by=by, reason=reason, **_times(window))
    return window


def check_plan(window: FreezeWindow) -> None:
    """Raise `Refusal` if a window that has not begun cannot be planned with its times.

    A start within `START_TOLERANCE` becomes now. The result is valid until the current transaction ends.
    """
    require_in_calendar(window.starts_at, window.ends_at)
    _lock(window.competition)
    now = clock.database_now()
    saved = FreezeWindow.objects.filter(pk=window.pk).first()
    if saved is not None and saved.starts_at <= now:
        raise Refusal(f"{saved} has begun", fix="extend or end it instead")
    if window.starts_at < now - START_TOLERANCE:
        raise Refusal(
            f"the freeze window would begin in the past, at {in_words(window.starts_at)}",
            fix="give a later start, or plan a later window and open it now",
        )
    window.starts_at = max(window.starts_at, now)
    if window.ends_at <= window.starts_at:
        raise Refusal("the freeze window ends before it begins", fix="give a later end or an earlier start")
    check_free(window)


def check_free(window: FreezeWindow) -> None:
    """Raise `Refusal` if the part of the window from now on overlaps another window of its competition."""
    others = effective_windows(window.competition).exclude(pk=window.pk)
    begins = max(window.starts_at, clock.database_now())
    if other := others.filter(starts_at__lt=window.ends_at, ends_at__gt=begins).first():
        raise Refusal(
            f"it overlaps the freeze window {other.reason!r}, {in_words(other.starts_at)} to {in_words(other.ends_at)}",
            fix="choose times outside it, or change the other window",
        )


def is_known(competition: Competition, values: Mapping[str, Any]) -> bool:
    """Return whether a window with these columns exists, or existed before an organiser changed it."""
    asked = _values(FreezeWindow(**values))
    return any(asked in (_values(window), *window.earlier_values) for window in competition.freeze_windows.all())


def change_window(
    *, window: FreezeWindow, starts_at: datetime, ends_at: datetime, shown_reason: str, by: User, reason: str
) -> None:
    """Change the times and the reason shown to teams of a window that has not begun; `reason` is for the event log.

    Raise `Refusal` as `plan_window` does, and if the window has begun.
    """
    with transaction.atomic():
        locked = _locked(window, by)
        before = _values(locked)
        locked.earlier_values.append(before)
        locked.starts_at, locked.ends_at, locked.reason = starts_at, ends_at, _checked_reason(shown_reason)
        check_plan(locked)
        locked.save()
        event_log.record("change", locked, by=by, reason=reason, **_times(locked), before=before)
    window.refresh_from_db()


def open_window(*, window: FreezeWindow, by: User, reason: str) -> None:
    """Start a planned window now; it keeps its length. Raise `Refusal` if it has begun, or then overlaps another."""
    with transaction.atomic():
        locked, now = _locked(window, by), clock.database_now()
        if locked.starts_at <= now:
            raise RefusedInState(
                f"{locked} began at {in_words(locked.starts_at)}",
                state="begun",
                fix="open only windows that have not begun",
            )
        _change(locked, "open", by, reason, starts_at=now, ends_at=now + (locked.ends_at - locked.starts_at))
        check_free(locked)
    window.refresh_from_db()


def extend_window(*, window: FreezeWindow, ends_at: datetime, by: User, reason: str) -> None:
    """Move the end of a window to a later time. Raise `Refusal` if it has ended or `ends_at` is not later."""
    require_in_calendar(ends_at)
    with transaction.atomic():
        locked = _locked(window, by)
        if ends_at <= locked.ends_at:
            raise Refusal(
                f"{locked} already ends at {in_words(locked.ends_at)}, not before {in_words(ends_at)}",
                fix="give a later end, or use End now",
            )
        _change(locked, "extend", by, reason, ends_at=ends_at)
        check_free(locked)
    window.refresh_from_db()


def end_window(*, window: FreezeWindow, by: User, reason: str) -> None:
    """End an active window now; submissions are accepted again. Raise `Refusal` if it has not begun."""
    with transaction.atomic():
        locked, now = _locked(window, by), clock.database_now()
        if now <= locked.starts_at:
            raise RefusedInState(f"{locked} has not begun", state="planned", fix="change its times or call it off")
        _change(locked, "end", by, reason, ends_at=now)
    window.refresh_from_db()


def call_off_window(*, window: FreezeWindow, by: User, reason: str) -> None:
    """Call a window off: an active window ends now, a future one has no effect.

    The row of a future window keeps its times, since other rows may refer to it. Raise `Refusal` if it has ended.
    """
    with transaction.atomic():
        locked, now = _locked(window, by), clock.database_now()
        ends: dict[str, datetime] = {"ends_at": now} if locked.starts_at < now else {"called_off_at": now}
        _change(locked, "call_off", by, reason, **ends)
    window.refresh_from_db()


def _change(window: FreezeWindow, verb: str, by: User, reason: str, **times: datetime) -> None:
    before = _values(window)
    window.earlier_values.append(before)
    for name, moment in times.items():
        setattr(window, name, moment)
    window.save(update_fields=[*times, "earlier_values"])
    event_log.record(verb, window, by=by, reason=reason, **_times(window), before=before)


def _locked(window: FreezeWindow, by: User) -> FreezeWindow:
    """Lock and return the window. Raise `Refusal` if `by` is no organiser, or it has ended or was called off."""
    require(by, window.competition, Right.RUN)
    _lock(window.competition)
    locked = FreezeWindow.objects.select_related("competition").get(pk=window.pk)
    if locked.called_off_at is not None:
        problem = f"{locked} was called off at {in_words(locked.called_off_at)}"
        raise RefusedInState(problem, state="called off", fix="plan another window")
    if locked.ends_at <= clock.database_now():
        problem = f"{locked} ended at {in_words(locked.ends_at)}"
        raise RefusedInState(problem, state="ended", fix="plan another window")
    return locked


def _checked_reason(reason: str) -> str:
    reason = reason.strip()
    if not 1 <= len(reason) <= MAX_REASON_CHARACTERS:
        raise Refusal(
            f"a freeze window needs a reason of 1 to {MAX_REASON_CHARACTERS} characters",
            fix="give a reason for the teams",
        )
    return reason


def _lock(competition: Competition) -> None:
    require_not_archived(Competition.objects.select_for_update(no_key=True).get(pk=competition.pk))


def _times(window: FreezeWindow) -> dict[str, Any]:
    # in UTC: a file may name the same moment in another zone
    return {name: getattr(window, name).astimezone(UTC).isoformat() for name in ("starts_at", "ends_at")}


def _values(window: FreezeWindow) -> dict[str, Any]:
    return _times(window) | {"reason": window.reason}
