"""Calendar of a competition: past, current and coming freeze windows and rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from competitions.models import Competition, FreezeWindow
from core import clock
from rounds.models import Round


@dataclass(frozen=True)
class CalendarItem:
    """A freeze window with its round, if any. `phase` is "past", "now" or "coming"."""

    window: FreezeWindow
    round: Round | None
    phase: str


FREEZE = "Submissions freeze"


@dataclass(frozen=True)
class NextDate:
    """The next date of the calendar: for example "Submissions freeze" at a time."""

    what: str
    at: datetime

    @property
    def is_freeze(self) -> bool:
        """Whether submissions freeze then."""
        return self.what == FREEZE


@dataclass(frozen=True)
class Calendar:
    """`ahead` holds the current and coming items, soonest first; `past` the others, newest first.

    `frozen` is the window in force; submissions are accepted again from `reopens_at`, None if the competition ends
    before. `opens_at` is the start of a competition that has not begun, None for others.
    """

    ahead: Sequence[CalendarItem]
    past: Sequence[CalendarItem]
    frozen: FreezeWindow | None
    reopens_at: datetime | None
    next: NextDate | None
    opens_at: datetime | None
    ended: bool


def calendar(competition: Competition) -> Calendar:
    """Return the calendar of a competition at the present time, in one query."""
    now = clock.now()
    windows = list(competition.freeze_windows.select_related("round"))
    items = [_item(window, now) for window in windows if not _called_off(window)]
    frozen, reopens = FreezeWindow.in_force(windows, now), reopening(windows, now)
    return Calendar(
        ahead=[item for item in items if item.phase != "past"],
        past=[item for item in reversed(items) if item.phase == "past"],
        frozen=frozen,
        reopens_at=reopens if reopens is not None and reopens < competition.ends_at else None,
        next=next_date(competition, windows, now),
        opens_at=competition.starts_at if now < competition.starts_at else None,
        ended=now >= competition.ends_at,
    )


def reopening(windows: Iterable[FreezeWindow], at: datetime) -> datetime | None:
    """Return when the freeze at `at` is over, None if there is none then.

    Windows that follow each other without a gap are one freeze.
    """
    windows = list(windows)
    reopens, current = at, FreezeWindow.in_force(windows, at)
    while current is not None:
        reopens = current.ends_at
        current = FreezeWindow.in_force(windows, reopens)
    return reopens if reopens > at else None


def _called_off(window: FreezeWindow) -> bool:
    """Return whether to hide a window. The window of a cancelled round stays visible as "cancelled"."""
    return window.called_off_at is not None and getattr(window, "round", None) is None


def _item(window: FreezeWindow, now: datetime) -> CalendarItem:
    played: Round | None = getattr(window, "round", None)
    if window.called_off_at is not None:
        return CalendarItem(window, played, "past")
    if window.starts_at <= now < window.ends_at or (played is not None and played.state in Round.UNDER_WAY):
        return CalendarItem(window, played, "now")
    return CalendarItem(window, played, "coming" if now < window.starts_at else "past")


def next_date(competition: Competition, windows: Sequence[FreezeWindow], now: datetime) -> NextDate | None:
    """Return the next date of a competition with these freeze windows, None after its end."""
    reopens = reopening(windows, now)
    if reopens is not None and reopens < competition.ends_at:
        return NextDate("Submissions open again", reopens)
    if now < competition.starts_at:
        return NextDate("The competition starts", competition.starts_at)
    starts = [window.starts_at for window in windows if window.starts_at > now and window.called_off_at is None]
    if starts and reopens is None:
        return NextDate(FREEZE, min(starts))
    return NextDate("The competition ends", competition.ends_at) if now < competition.ends_at else None
