"""The table of a chart: what it draws is what the page lists and the CSV file holds."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

Cell = str | int | float | None

_FORMULA = ("=", "+", "-", "@", "\t", "\n")
"""First characters with which spreadsheets read a text as a formula."""


@dataclass(frozen=True)
class ChartTable:
    """Named columns and their rows; None is an empty cell."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def column(self, number: int) -> list[Cell]:
        """Return one column."""
        return [row[number] for row in self.rows]

    def csv(self) -> str:
        """Return the table as CSV with a header. A text that a spreadsheet takes for a formula gets an apostrophe."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([_plain(cell) for cell in row] for row in (self.columns, *self.rows))
        return file.getvalue()


def _plain(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    # the writer puts no quotes around a carriage return, which readers take for the end of a row
    text = cell.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(_FORMULA) else text
