"""Search of admin lists that an index serves, where Django's has a database read every row.

Django compares keys as texts, and texts of related rows after a join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import BigAutoField, Q, QuerySet
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


def found_by_keys(
    rows: QuerySet[Any], text: str, own: Sequence[str], related: Mapping[str, Sequence[str]]
) -> QuerySet[Any]:
    """Return the rows that each word of `text` finds, by a lookup of `own` or by part of a field of a related row.

    Related rows, by the name of the relation, are few. They are looked up first, and `rows` by their keys.
    """
    for word in text.split():
        found = Q(*((lookup, word) for lookup in own), _connector=Q.OR)
        for name, fields in related.items():
            table = rows.model._meta.get_field(name).related_model._default_manager
            parts = Q(*((f"{field}__icontains", word) for field in fields), _connector=Q.OR)
            found |= Q(**{f"{name}__in": list(table.filter(parts).order_by().values_list("pk", flat=True))})
        rows = rows.filter(found)
    return rows
