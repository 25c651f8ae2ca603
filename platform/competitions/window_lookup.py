"""Lookup of the freeze window in force at a time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from competitions.models import FreezeWindow


def window_at(windows: Iterable[FreezeWindow], at: datetime) -> FreezeWindow | None:
    """Return the freeze window in force at `at`, from its start to before its end; of several, the last to end.

    Windows that were called off are ignored.
    """
    valid = [window for window in windows if window.called_off_at is None]
    active = [window for window in valid if window.starts_at <= at < window.ends_at]
    return max(active, key=lambda window: window.ends_at, default=None)
