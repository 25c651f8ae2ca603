"""The calendar of a competition as its pages show it: what is over, what holds, and what comes next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from competitions.models import Competition, FreezeWindow
from competitions.window_lookup import window_at
from core import clock
from rounds.models import Round


@dataclass(frozen=True)
class Item:
    """A freeze window and the round that it is for, if any. `stand` is "over", "now" or "coming"."""

    window: FreezeWindow
    round: Round | None
    stand: str


@dataclass(frozen=True)
class NextThing:
    """What happens next, and when: "Submissions freeze" at a time."""

    what: str
    at: datetime


@dataclass(frozen=True)
class Calendar:
    """`ahead` is what holds or comes, soonest first; `over` the rest, newest first.

    `frozen` is the window in force, and `reopens_at` when submissions are accepted again.
    """

    ahead: Sequence[Item]
    over: Sequence[Item]
    frozen: FreezeWindow | None
    reopens_at: datetime | None
    next: NextThing | None


def calendar(competition: Competition) -> Calendar:
    """The calendar of a competition now, in one query."""
    now = clock.now()
    windows = list(competition.freeze_windows.select_related("round"))
    items = [_item(window, now) for window in windows if not _called_off(window)]
    frozen = window_at(windows, now)
    reopens = reopening(windows, now)
    return Calendar(
        ahead=[item for item in items if item.stand != "over"],
        over=[item for item in reversed(items) if item.stand == "over"],
        frozen=frozen,
        reopens_at=reopens,
        next=_next(competition, windows, now, reopens),
    )


def reopening(windows: Iterable[FreezeWindow], at: datetime) -> datetime | None:
    """When submissions are accepted again, windows that follow each other without a gap taken together; None where
    they are accepted at `at`."""
    windows = list(windows)
    reopens, held = at, window_at(windows, at)
    while held is not None:
        reopens = held.ends_at
        held = window_at(windows, reopens)
    return reopens if reopens > at else None


def _called_off(window: FreezeWindow) -> bool:
    """Whether it is shown no more. That of a round is, with the word "cancelled"."""
    return window.called_off_at is not None and getattr(window, "round", None) is None


def _item(window: FreezeWindow, now: datetime) -> Item:
    played: Round | None = getattr(window, "round", None)
    if window.called_off_at is not None:
        return Item(window, played, "over")
    if window.starts_at <= now < window.ends_at or (played is not None and played.state in Round.UNDER_WAY):
        return Item(window, played, "now")
    return Item(window, played, "coming" if now < window.starts_at else "over")


def _next(
    competition: Competition, windows: Sequence[FreezeWindow], now: datetime, reopens: datetime | None
) -> NextThing | None:
    if reopens is not None:
        return NextThing("Submissions open again", reopens)
    if now < competition.starts_at:
        return NextThing("The competition begins", competition.starts_at)
    starts = [window.starts_at for window in windows if window.starts_at > now and window.called_off_at is None]
    if starts:
        return NextThing("Submissions freeze", min(starts))
    return NextThing("The competition ends", competition.ends_at) if now < competition.ends_at else None
