"""The table of a chart: what it draws is what the page lists and the CSV file holds."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
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
        return "".join(csv_lines((self.columns, *self.rows)))


def csv_lines(rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    """Yield each row as CSV. A text that a spreadsheet takes for a formula gets an apostrophe."""
    writer = csv.writer(_Line(), lineterminator="\n")
    for row in rows:
        yield writer.writerow([_plain(cell) for cell in row])


class _Line:
    """A file whose `write` returns the text; so does `writerow` then."""

    def write(self, text: str) -> str:
        return text


def _plain(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    # the writer puts no quotes around a carriage return, which readers take for the end of a row
    text = cell.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(_FORMULA) else text
