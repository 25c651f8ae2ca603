"""Heat map of two sides: a table with coloured cells, and a picture of the whole where it is large.

The cells are written here and not by a template: there may be 10,000, and each is a number, a class and a link.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter

from django.urls import reverse
from django.utils.formats import get_format
from django.utils.safestring import SafeString

from competitions.models import Track
from evaluation.charts.chart_table import ChartTable
from pages.player_names import PlayerName
from rounds.models import Round

SMALL = 16
"""Up to this many rows and columns, the table is small enough to be its own picture."""


@dataclass(frozen=True)
class HeatMapAxis:
    """A row or column: a player, its name, and the score that it is sorted by; None comes last."""

    player: int
    name: PlayerName
    score: str = ""


@dataclass(frozen=True)
class HeatMap(ABC):
    """Players from top to bottom and opponents from left to right, best first, with a cell for each pair that met."""

    title: str
    down: Sequence[HeatMapAxis]
    across: Sequence[HeatMapAxis]
    csv: str

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether no pair met."""

    @property
    @abstractmethod
    def legend(self) -> Sequence[tuple[str, str]]:
        """Each colour with the value from which on it stands for."""

    @property
    @abstractmethod
    def table(self) -> ChartTable:
        """A row for each pair."""

    @abstractmethod
    def colour(self, down: int, across: int) -> str:
        """Return the colour of a pair of players, "" where it has none."""

    @abstractmethod
    def content(self, down: int, across: int) -> str | None:
        """Return the content of the cell of a pair as HTML, None where the pair did not meet."""

    @cached_property
    def point(self) -> str:
        """The decimal separator of the reader."""
        return str(get_format("DECIMAL_SEPARATOR"))

    @property
    def is_large(self) -> bool:
        """Whether it needs a picture of the whole."""
        return max(len(self.down), len(self.across)) > SMALL

    def rows(self) -> Sequence[tuple[HeatMapAxis, SafeString]]:
        """Return each player with its cells as HTML."""
        return [
            (side, SafeString("".join(self._cell(side.player, opponent.player) for opponent in self.across)))
            for side in self.down
        ]

    def areas(self) -> Sequence[tuple[str, str]]:
        """Return the picture of the whole: for each colour an SVG path of its cells, each of height 1."""
        paths: dict[str, list[str]] = {}
        for y, side in enumerate(self.down):
            row = enumerate(self.colour(side.player, opponent.player) for opponent in self.across)
            for colour, run in groupby(row, key=itemgetter(1)):
                (x, _), *others = run
                if colour:
                    width = 1 + len(others)
                    paths.setdefault(colour, []).append(f"M{x} {y}h{width}v1h-{width}z")
        return sorted((colour, "".join(path)) for colour, path in paths.items())

    def _cell(self, down: int, across: int) -> str:
        content = self.content(down, across)
        if content is None:
            return "<td></td>"
        colour = self.colour(down, across)
        return f'<td class="{colour}">{content}</td>' if colour else f"<td>{content}</td>"


def matrix_address(attacks: Track, played: Round | None, *, csv: bool = False) -> str:
    """Return the address of the matrix of a track of attacks: of a round, or of the leaderboards without one."""
    name, place = ("round_matrix", [played.number]) if played else ("matrix", [])
    return reverse(
        f"pages:{name}_csv" if csv else f"pages:{name}", args=[attacks.competition.slug, *place, attacks.name]
    )
