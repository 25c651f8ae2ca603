"""Exceptions of the site: those of the engine, and a refusal with a time.

A `Refusal` is a user error and is shown with its fix. A `Fault` is a platform error: retried, refunded and reported.
"""

from __future__ import annotations

from datetime import datetime

from evaluation.domain.errors import Fault, GauntletError, HostFault, Refusal

__all__ = ["Fault", "GauntletError", "HostFault", "Refusal", "RefusedForNow"]


class RefusedForNow(Refusal):
    """A refusal that depends on the time: the same input is accepted from `accepted_from` on."""

    def __init__(self, problem: str, *, accepted_from: datetime, fix: str = "") -> None:
        super().__init__(problem, fix=fix)
        self.accepted_from = accepted_from
