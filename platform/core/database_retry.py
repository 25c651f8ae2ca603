"""Failures of the database: they cost time, and no work is to blame for them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

FAILURES = (OperationalError, InterfaceError)
"""What is raised where the database was restarted or cannot be reached, or has no space or locks left."""

PAUSES = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0)
"""Seconds between two attempts: longer than the restart of a database."""

_Result = TypeVar("_Result")

log = logging.getLogger(__name__)


def persist(act: Callable[[], _Result]) -> _Result:
    """Return the result of `act`, which is called again after each failure of the database, on another connection.

    Only for acts that are safe to repeat, outside a transaction. The failure of the last attempt is raised.
    """
    for pause in PAUSES:
        try:
            return act()
        except FAILURES:
            log.warning("the database failed; the next attempt follows in %s s", pause, exc_info=True)
            connection.close()  # otherwise a broken connection stays broken
            time.sleep(pause)
    return act()
