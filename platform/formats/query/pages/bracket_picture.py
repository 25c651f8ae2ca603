"""The bracket of a round as a picture: a line for each player, up to the stage in which it was cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from evaluation.charts.chart_table import Cell, ChartTable
from formats.query.pages.bracket import Bracket, BracketCell

WIDTH, LEFT, RIGHT, TOP, STEP = 400, 150, 388, 48, 15
"""In units of the view box: names up to `LEFT`, stages from there to `RIGHT`, rows of height `STEP` below `TOP`."""

_NAME_LENGTH = 22


@dataclass(frozen=True)
class Head:
    """A stage: its place across the picture, its number of samples, and how many players advance."""

    x: float
    name: str
    advance: str


@dataclass(frozen=True)
class Way:
    """A player: its line through the stages that it survived, and a cross where it was cut."""

    y: str
    name: str
    words: str
    path: str
    dots: str
    cut: str


@dataclass(frozen=True)
class BracketPicture:
    """Stages from left to right, players from the first place to the last, as in the table."""

    bracket: Bracket
    csv: str

    @property
    def height(self) -> int:
        """The height of the view box."""
        return TOP + STEP * len(self.bracket.rows) + 4

    @cached_property
    def heads(self) -> Sequence[Head]:
        """The stages."""
        columns = self.bracket.columns
        width = (RIGHT - LEFT) / max(1, len(columns))
        return [
            Head(LEFT + width * (number + 0.5), f"{column.samples}", f"{column.kept}")
            for number, column in enumerate(columns)
        ]

    @property
    def ways(self) -> Sequence[Way]:
        """The players."""
        found = []
        for number, row in enumerate(self.bracket.rows):
            y = TOP + STEP * (number + 0.5)
            kept = [head.x for head, cell in zip(self.heads, row.cells, strict=False) if cell.kept]
            gone = [head.x for head, cell in zip(self.heads, row.cells, strict=False) if not cell.kept]
            end = gone[0] if gone else kept[-1]
            title = row.name.title
            name = title if len(title) <= _NAME_LENGTH else f"{title[: _NAME_LENGTH - 1]}\N{HORIZONTAL ELLIPSIS}"
            found.append(
                Way(
                    y=f"{y:.1f}",
                    name=name,
                    words=f"{row.name.title}: {self._fate(row.name.player)}",
                    path=f"M{LEFT} {y:g}H{end:.1f}",
                    dots="".join(f"M{x:.1f} {y:g}h0" for x in kept),
                    cut="".join(f"M{x - 3:.1f} {y - 3:g}l6 6m0-6l-6 6" for x in gone[:1]),
                )
            )
        return found

    def _fate(self, player: int) -> str:
        return self.bracket.cuts.get(player, "played every stage")


def table_of(bracket: Bracket) -> ChartTable:
    """Return a row for each player and stage: what the picture and the table of the page show."""
    rows: list[Sequence[Cell]] = []
    for row in bracket.rows:
        for column, cell in zip(bracket.columns, row.cells, strict=False):
            outcome = _outcome(cell)
            why = bracket.cuts.get(row.name.player) if not cell.kept else None
            teams = ", ".join(row.name.teams)
            rows.append((row.name.title, teams, column.number, column.samples, cell.place, cell.value, outcome, why))
    return ChartTable(("player", "teams", "stage", "samples", "place", "value", "outcome", "because"), rows)


def _outcome(cell: BracketCell) -> str:
    if cell.inconsistent:
        return "inconsistent"
    if not cell.kept:
        return "cut"
    return "spared" if cell.spared else "kept"
