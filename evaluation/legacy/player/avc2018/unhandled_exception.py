"""End a program whose main thread has ended with an exception, although other threads of it wait for ever.

foolbox 1.x's BoundaryAttack leaves such threads behind when a query raises: in 2018, programs hung there.
"""

from __future__ import annotations

import os
import sys
import threading
from types import TracebackType
from typing import Optional, Type

PATIENCE = 1.0
"""Seconds that other threads have to end by themselves."""


def end_after_unhandled_exceptions() -> None:
    """Let an unhandled exception of the main thread end the process with status 1, after its traceback."""
    usual = sys.excepthook

    def hook(kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
        usual(kind, error, trace)
        timer = threading.Timer(PATIENCE, _end)
        timer.daemon = True
        timer.start()

    sys.excepthook = hook


def _end() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
