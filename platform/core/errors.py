"""The exceptions of the site: those of the engine, and one that carries a time.

A `Refusal` is the sender's cause and is shown to them with its fix; a `Fault` is ours: retried, refunded, reported.
"""

from __future__ import annotations

from datetime import datetime

from evaluation.domain.errors import Fault, GauntletError, Refusal

__all__ = ["Fault", "GauntletError", "Refusal", "RefusedForNow"]


class RefusedForNow(Refusal):
    """Refused only because of the time: `accepted_from` is when the same thing will be accepted."""

    def __init__(self, problem: str, *, accepted_from: datetime, fix: str = "") -> None:
        super().__init__(problem, fix=fix)
        self.accepted_from = accepted_from
