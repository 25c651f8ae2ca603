"""The calendar of a competition: a pure function of its dates."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from competitions.models import FreezeWindow


def window_at(windows: Iterable[FreezeWindow], at: datetime) -> FreezeWindow | None:
    """The freeze window that holds at `at`: it begins with its start and is over at its end. Of several, the last.

    One that was called off never holds.
    """
    standing = [window for window in windows if window.called_off_at is None]
    holding = [window for window in standing if window.starts_at <= at < window.ends_at]
    return max(holding, key=lambda window: window.ends_at, default=None)
