"""Numbers in the format of the reader's language: `1,234.5` in English, `1.234,5` in German.

Only texts of pages are localised. CSV, JSON, addresses, attributes and coordinates have a point.
"""

from __future__ import annotations

from django.utils.formats import get_format


def local(text: str) -> str:
    """Return a text whose numbers have commas between thousands and a decimal point, as the reader writes them."""
    point, comma = get_format("DECIMAL_SEPARATOR"), get_format("THOUSAND_SEPARATOR")
    if (point, comma) == (".", ","):
        return text
    return text.translate(str.maketrans({",": comma, ".": point}))
