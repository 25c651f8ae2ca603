"""What of the API differs by the format of a competition. Everything else is the same for all."""

from __future__ import annotations

from typing import Protocol

from core.by_format import ByFormat


class ApiFormat(Protocol):
    """What the API answers of competitions of a format."""


api_formats: ByFormat[ApiFormat] = ByFormat()
"""The answers of each format."""
