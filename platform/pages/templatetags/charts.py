"""Template filters for the tables of charts."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def cell(value: str | float | None) -> str:
    """Format a cell of a table: an empty cell as a dash, numbers as in the CSV file."""
    return "\N{EN DASH}" if value is None else str(value)
