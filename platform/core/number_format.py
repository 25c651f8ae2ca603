"""Numbers in the format of the reader's language: `1,234.5` in English, `1.234,5` in German.

Only texts of pages are localised. CSV, JSON, addresses, attributes and coordinates have a point.
"""

from __future__ import annotations

from functools import cache

from django.utils.formats import get_format
from django.utils.translation import get_language


def local(text: str) -> str:
    """Return a text whose numbers have commas between thousands and a decimal point, as the reader writes them."""
    separators = _separators(get_language())
    return text.translate(separators) if separators else text


@cache
def _separators(language: str | None) -> dict[int, str]:
    """Return what stands for comma and point in a language, nothing where it is the same."""
    point, comma = (get_format(name, lang=language) for name in ("DECIMAL_SEPARATOR", "THOUSAND_SEPARATOR"))
    return {} if (point, comma) == (".", ",") else str.maketrans({",": comma, ".": point})
