"""Report platform errors: once each, at the level ERROR, with a traceback. Operators get them by e-mail."""

from __future__ import annotations

import logging

_REPORTED = "_gauntlet_reported"


def report(log: logging.Logger, error: BaseException, message: str, *args: object, level: int = logging.ERROR) -> None:
    """Log `message % args` and the traceback of `error`, unless the same exception was reported before."""
    if getattr(error, _REPORTED, False):
        return
    setattr(error, _REPORTED, True)
    log.log(level, message, *args, exc_info=error)
