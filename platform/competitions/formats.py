"""What of a competition differs by its format. Everything else is the same for all."""

from __future__ import annotations

from typing import Protocol

from core.by_format import ByFormat


class CompetitionFormat(Protocol):
    """The rules and the tracks of a format."""


competition_formats: ByFormat[CompetitionFormat] = ByFormat()
"""The rules and tracks of each format."""
