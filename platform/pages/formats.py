"""What of the pages differs by the format of a competition. Everything else is the same for all."""

from __future__ import annotations

from typing import Protocol

from core.by_format import ByFormat


class PageFormat(Protocol):
    """What pages show of competitions of a format."""


page_formats: ByFormat[PageFormat] = ByFormat()
"""The pages of each format."""
