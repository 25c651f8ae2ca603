"""Recorded texts, and texts and numbers of charts, in the language of the reader."""

from __future__ import annotations

from django.utils.translation import gettext

from core.number_format import local
from evaluation.domain.translatable_text import Text, written


def translated(text: str) -> str:
    """Return a `Text` in the reader's language. Any other string, the name of a team for example, is not changed."""
    if not isinstance(text, Text):
        return text
    message = gettext(text.message)
    values = {
        name: translated(value) if isinstance(value, str) else local(written(value))
        for name, value in text.values.items()
    }
    return message % values if values else message


def tick(text: str) -> str:
    """Return the label of an axis. Times are written by their scale."""
    return text if any(map(str.isalpha, text)) else local(text)
