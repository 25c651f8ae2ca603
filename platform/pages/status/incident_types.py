"""What delays results: incidents of the status page, and rows that need a person, for the first page of the admin."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from django.db.models import QuerySet


class Urgency(IntEnum):
    """The order of incidents, the worst first."""

    STOPPED = 1
    """Nothing is played."""
    PARTLY_STOPPED = 2
    """Some work is not played."""
    LATE = 3
    """Builds are late."""
    FAILED = 4
    """Platform errors ended work that scores need."""
    UNSCORED = 5
    """Platform errors ended evaluations."""
    WAITS = 6
    """Rows of work that waits after platform errors."""
    REJECTED = 7
    """Platform errors ended submissions."""
    REFUND = 8
    """Slots wait for a refund."""
    OBJECTION = 9
    """Objections wait for an answer."""
    RETRIED = 10
    """Work is tried again after platform errors."""
    SUSPENDED = 11
    """Organisers suspended work."""
    SILENT = 12
    """Workers stopped reporting."""


@dataclass(frozen=True)
class Incident:
    """Something that delays results. It names no team, player or host."""

    urgency: Urgency
    title: str
    text: str
    grave: bool = False


@dataclass(frozen=True)
class RowsToFix:
    """Rows that need a person: a title, and what to do."""

    urgency: Urgency
    title: str
    rows: QuerySet[Any]
    text: str


RETRY = (
    "Faults on one host, or failures of hosts: another host tries again, or the same one later. Choose Retry now "
    "or Give up."
)
"""What to do with work that waits after faults."""

REPLAY = "Fix the cause that each one names, then select them and choose Replay."
"""What to do with work that platform errors ended."""

DOUBTFUL = (
    "The results of a host differed from those of others. New rules or another sample set measure all of them again."
)
"""What to do with played work of drained hosts that nobody can replay."""
