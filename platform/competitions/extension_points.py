"""What competitions ask higher apps: questions, and what an import needs. Those add functions in `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import QuerySet

from accounts.models import User
from competitions.models import Competition, FreezeWindow, SampleSet
from competitions.planned_rounds_in_file import RoundTable
from core.extension_point import ExtensionPoint


class Records(NamedTuple):
    """Rows that are kept for good: their number, and the noun for one, e.g. "submission"."""

    number: int
    noun: str


sets_in_use: ExtensionPoint[[], QuerySet[SampleSet]] = ExtensionPoint()
"""Which sample sets have been used to measure players?"""

drawn_for_rounds: ExtensionPoint[[], QuerySet[SampleSet]] = ExtensionPoint()
"""Which sample sets were drawn for a round that is not over?"""

owns_window: ExtensionPoint[[FreezeWindow], bool] = ExtensionPoint()
"""Is the freeze window part of something whose actions alone change it?"""

checked_schedules: ExtensionPoint[[str, Sequence[RoundTable]], None] = ExtensionPoint()
"""Raise `Refusal` where rounds of a competition's file have a schedule that their format, named first, lacks."""

planned_rounds: ExtensionPoint[[Competition, Sequence[RoundTable], User | None], None] = ExtensionPoint()
"""Plan the rounds of a competition's file that are not planned yet, in the transaction of its import."""

records_of: ExtensionPoint[[Competition], Records] = ExtensionPoint()
"""How many rows of a kind have to be kept of a competition? In a transaction; the answer holds until it ends."""

check_before_archiving: ExtensionPoint[[Competition], None] = ExtensionPoint()
"""Raise `Refusal` where something goes on that has to end before the competition is archived."""

deleted_with: ExtensionPoint[[Competition], Sequence[QuerySet[Any]]] = ExtensionPoint()
"""Rows to delete before a competition without records, in this order: those of later apps first."""

described_rounds: ExtensionPoint[[Competition], list[dict[str, Any]]] = ExtensionPoint()
"""Return the tables of the planned rounds that a competition's file has."""
