"""Tables of the API as CSV."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rest_framework.renderers import BaseRenderer, JSONRenderer

from evaluation.charts.chart_table import Cell, ChartTable


class CsvRenderer(BaseRenderer):
    """Writes the rows that the view names in `table`, with a column for each of their fields."""

    media_type, format, charset = "text/csv", "csv", "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """Return the table, with lists and objects as JSON in their cells. A problem document stays JSON."""
        context = renderer_context or {}
        as_json: bytes = JSONRenderer().render(data)
        if context["response"].exception:
            return as_json
        rows: list[dict[str, Any]] = json.loads(as_json)[context["view"].table] or []
        columns = list(dict.fromkeys(name for row in rows for name in row))
        return ChartTable(columns, [[_cell(row.get(name)) for name in columns] for row in rows]).csv().encode()


def _cell(value: Any) -> Cell:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | list | dict) else value
