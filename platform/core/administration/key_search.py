"""Search of admin lists by keys, as numbers: Django compares their texts, for which a database reads every row."""

from __future__ import annotations

from typing import Any

from django.db.models import BigAutoField
from django.db.models.lookups import IntegerFieldExact

_NO_KEY = -1
_MOST_DIGITS = 19
"""Of a key of 64 bits. Python reads no number of thousands of digits."""


@BigAutoField.register_lookup
class IsNumber(IntegerFieldExact):
    """Whether a key is the number that a text is; none is one that is no number, or too large."""

    lookup_name = "is_number"

    def get_prep_lookup(self) -> Any:
        """Return the number."""
        text = str(self.rhs)
        return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else _NO_KEY

    def get_rhs_op(self, connection: Any, rhs: str) -> str:
        """Return the comparison."""
        return f"= {rhs}"


def key_as_number(field: str) -> str:
    """Return `=match__pk` of `search_fields` as a lookup by number; other fields as they are."""
    return f"{field[1:]}__{IsNumber.lookup_name}" if field.startswith("=") and field.endswith("pk") else field
