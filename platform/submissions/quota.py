"""The quota of a team on a track: what is left of it, and which refusals are refunded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet

from competitions.models import Entry, Track
from core import clock
from repositories.models import Repository
from submissions.models import QuotaSlot

WINDOW = timedelta(hours=24)
"""The rolling window of every limit here."""

REFUNDED_REFUSALS = 10
"""Refusals by the build or the smoke test that are refunded per window; further ones count."""

REFUNDED_FAULTS = 10
"""Platform errors of a repository that are refunded per window; further ones wait for an organiser."""


@dataclass(frozen=True)
class Allowance:
    """The submissions that a team may still make to a track."""

    quota: int
    used: int
    left: int
    frees_at: tuple[datetime, ...]
    """Times at which the used slots are free again, soonest first."""

    @property
    def next_at(self) -> datetime | None:
        """The time at which the next submission is accepted; None if one is accepted now, or never will be."""
        if self.left or not self.quota:
            return None
        return self.frees_at[self.used - self.quota]


def allowance_of(repository: Repository) -> Allowance:
    """Return what the team may still submit to the repository's track now."""
    return _allowance_by(QuotaSlot.objects.filter(repository=repository), repository.track)


def allowance_for(entry: Entry, track: Track) -> Allowance:
    """Return what a team may still submit to a track now, whether or not it has a repository for it."""
    return _allowance_by(QuotaSlot.objects.filter(repository__entry=entry, repository__track=track), track)


def _allowance_by(slots: QuerySet[QuotaSlot], track: Track) -> Allowance:
    now = clock.database_now()
    taken = (
        slots.filter(reserved_at__gt=now - WINDOW)
        .exclude(state=QuotaSlot.State.REFUNDED)
        .values_list("reserved_at", flat=True)
    )
    return allowance(taken, track.quota, now)


def allowance(slots: Iterable[datetime], quota: int, at: datetime) -> Allowance:
    """Return what is left of `quota` at `at`; `slots`: times at which the reserved or used ones were taken."""
    frees_at = tuple(sorted(taken + WINDOW for taken in slots if taken + WINDOW > at))
    return Allowance(quota, len(frees_at), max(0, quota - len(frees_at)), frees_at)


def refunds_refusal(refunds: Iterable[datetime], at: datetime) -> bool:
    """Return True if a user error is refunded at `at`; `refunds`: times of earlier refunds."""
    return sum(refunded + WINDOW > at for refunded in refunds) < REFUNDED_REFUSALS


def refunds_fault(refunds: Iterable[datetime], at: datetime) -> bool:
    """Return True if a platform error is refunded at `at` without an organiser; `refunds`: times of earlier refunds."""
    return sum(refunded + WINDOW > at for refunded in refunds) < REFUNDED_FAULTS
