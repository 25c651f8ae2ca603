"""How many submissions are left, and which refusals give theirs back: pure functions of times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

WINDOW = timedelta(hours=24)
"""The rolling window of every limit here."""

REFUNDED_REFUSALS = 10
"""How many refusals at build or smoke stage are refunded in a window; further ones count."""

REFUNDED_FAULTS = 10
"""How many platform errors of a repository are refunded in a window; further ones wait for an organiser."""


@dataclass(frozen=True)
class Allowance:
    """What a team may still submit to a track."""

    quota: int
    used: int
    left: int
    frees_at: tuple[datetime, ...]
    """When each slot that is taken frees, soonest first."""

    @property
    def next_at(self) -> datetime | None:
        """When the next submission is accepted, if none is accepted now; None where one is, or never will be."""
        if self.left or not self.quota:
            return None
        return self.frees_at[self.used - self.quota]


def allowance(slots: Iterable[datetime], quota: int, at: datetime) -> Allowance:
    """What is left of `quota` at the time `at`; `slots`: when those reserved or used (not refunded) were taken."""
    frees_at = tuple(sorted(taken + WINDOW for taken in slots if taken + WINDOW > at))
    return Allowance(quota, len(frees_at), max(0, quota - len(frees_at)), frees_at)


def refunds_refusal(refunds: Iterable[datetime], at: datetime) -> bool:
    """Whether a refusal by the team's cause is refunded at `at`; `refunds`: when earlier ones were."""
    return sum(refunded + WINDOW > at for refunded in refunds) < REFUNDED_REFUSALS


def refunds_fault(refunds: Iterable[datetime], at: datetime) -> bool:
    """Whether a platform error is refunded at `at` without an organiser; `refunds`: when earlier ones were."""
    return sum(refunded + WINDOW > at for refunded in refunds) < REFUNDED_FAULTS
