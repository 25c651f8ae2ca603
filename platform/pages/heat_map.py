"""Heat map of models and attacks: a table with coloured cells, and a picture of the whole where it is large.

The cells are written here and not by a template: there may be 10,000, and each is a number, a class and a link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter

from django.urls import reverse
from django.utils.formats import get_format
from django.utils.safestring import SafeString

from core import rounding
from evaluation.charts.heat_colours import HeatColours, Pair, colours_for
from evaluation.charts.table import Table
from pages.players import PlayerName

SMALL = 16
"""Up to this many rows and columns, the table is small enough to be its own picture."""


@dataclass(slots=True)
class Cell(Pair):
    """A model against an attack, with their match."""

    match: int | None


@dataclass(frozen=True)
class Side:
    """A row or column: a player, its name, and the score that it is sorted by; None comes last."""

    player: int
    name: PlayerName
    score: str = ""


@dataclass(frozen=True)
class HeatMap:
    """Models from top to bottom and attacks from left to right, best first, with a cell for each pair that met."""

    title: str
    models: Sequence[Side]
    attacks: Sequence[Side]
    cells: Mapping[tuple[int, int], Cell]
    csv: str = ""

    @cached_property
    def colours(self) -> HeatColours:
        """The colours of the cells."""
        return colours_for(self.cells.values())

    @cached_property
    def _classes(self) -> Mapping[tuple[int, int], str]:
        """The colour of each pair."""
        return {pair: self.colours.of(cell) for pair, cell in self.cells.items()}

    @property
    def end(self) -> float:
        """The largest distance of the colours."""
        return self.colours.end

    @property
    def legend(self) -> Sequence[tuple[str, str]]:
        """Each colour with the distances from which on it stands for."""
        return self.colours.legend

    @property
    def table(self) -> Table:
        """A row for each pair."""
        columns = ("model", "model team", "attack", "attack team", "median distance", "held", "samples", "match")
        rows = [
            (
                *(model.name.title, model.name.team, attack.name.title, attack.name.team),
                *(rounding.distance(cell.median), cell.held, cell.samples, cell.match),
            )
            for model in self.models
            for attack in self.attacks
            if (cell := self.cells.get((model.player, attack.player))) is not None
        ]
        return Table(columns, rows)

    @property
    def is_large(self) -> bool:
        """Whether it needs a picture of the whole."""
        return max(len(self.models), len(self.attacks)) > SMALL

    def rows(self) -> Sequence[tuple[Side, SafeString]]:
        """Return each model with its cells as HTML."""
        address, point = reverse("pages:match", args=[0])[:-1], get_format("DECIMAL_SEPARATOR")
        return [
            (
                model,
                SafeString("".join(self._cell(model.player, attack.player, address, point) for attack in self.attacks)),
            )
            for model in self.models
        ]

    def areas(self) -> Sequence[tuple[str, str]]:
        """Return the picture of the whole: for each colour an SVG path of its cells, each of height 1."""
        paths: dict[str, list[str]] = {}
        for y, model in enumerate(self.models):
            row = enumerate(self._classes.get((model.player, attack.player)) for attack in self.attacks)
            for colour, run in groupby(row, key=itemgetter(1)):
                (x, _), *others = run
                if colour is not None:
                    width = 1 + len(others)
                    paths.setdefault(colour, []).append(f"M{x} {y}h{width}v1h-{width}z")
        return sorted((colour, "".join(path)) for colour, path in paths.items())

    def _cell(self, model: int, attack: int, address: str, point: str) -> str:
        cell = self.cells.get((model, attack))
        if cell is None:
            return "<td></td>"
        text = f"{rounding.distance(cell.median):.2f}".replace(".", point)
        if cell.match is not None:
            text = f'<a href="{address}{cell.match}">{text}</a>'
        return f'<td class="{self._classes[model, attack]}">{text}</td>'
