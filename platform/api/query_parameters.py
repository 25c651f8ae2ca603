"""Parameters of the addresses."""

from __future__ import annotations

from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

_MOST = 9_999_999_999


def whole_number(request: Request, name: str, *, default: int = 0, least: int = 0) -> int:
    """Return the parameter `name` as a whole number, `default` without one. Raise 400 for another text."""
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdecimal()) or int(text[:11]) > _MOST or int(text) < least:
        raise ValidationError({name: f"use a whole number from {least}"})
    return int(text)
