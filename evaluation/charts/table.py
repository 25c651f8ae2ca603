"""The table of a chart: what it draws is what the page lists and the CSV file holds."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Named columns and their rows; None is an empty cell."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def column(self, number: int) -> list[Cell]:
        """Return one column."""
        return [row[number] for row in self.rows]

    def csv(self) -> str:
        """Return the table as CSV with a header."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return file.getvalue()
