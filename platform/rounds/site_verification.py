"""Verification of everything that is shown against what it follows from, in every format."""

from __future__ import annotations

from dataclasses import replace

from competitions.models import Competition
from core.data_difference import Verified
from rounds.formats import round_formats
from submissions.quota_ledger_check import differing_slots


def verify(competition: Competition | None = None, *, repair: bool = False) -> Verified:
    """Compare scores, leaderboards, rounds and quota slots of one competition, or of all, with their sources.

    With `repair`, computed values are written, but not those of rounds.
    """
    wanted = Competition.objects.order_by("pk")
    if competition is not None:
        wanted = wanted.filter(pk=competition.pk)
    parts = (round_formats[name].verify(wanted.filter(format=name), repair=repair) for name in round_formats)
    seen = sum(parts, Verified())
    return replace(seen, differences=(*seen.differences, *differing_slots(competition, repair=repair)))
