"""Line chart: one or more curves over a common axis, each with an optional band."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from evaluation.charts.scales import Scale
from evaluation.charts.table import Table

WIDTH, HEIGHT = 400.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 388.0, 24.0, 206.0
"""The drawing area in units of the view box. It is as wide as a phone, so that labels stay readable on one."""


@dataclass(frozen=True)
class Line:
    """A curve: the column of its values, and the columns of the lower and upper end of its band."""

    name: str
    column: int
    band: tuple[int, int] | None = None


@dataclass(frozen=True)
class Drawn:
    """A curve as SVG paths. `number` chooses colour and dash, from 1."""

    number: int
    name: str
    path: str
    band: str


@dataclass(frozen=True)
class Label:
    """A tick: its place across the axis, and its text."""

    at: float
    text: str


@dataclass(frozen=True)
class LineChart:
    """Curves over the first column of a table. `steps`: the value holds until the next one."""

    key: str
    title: str
    description: str
    table: Table
    lines: Sequence[Line]
    x: Scale
    y: Scale
    x_name: str
    y_name: str
    steps: bool = False
    csv: str = ""
    """Address of the table as CSV."""

    @cached_property
    def drawn(self) -> Sequence[Drawn]:
        """The curves as paths."""
        return [
            Drawn(number, line.name, self._path(line.column), self._band(line.band) if line.band else "")
            for number, line in enumerate(self.lines, start=1)
        ]

    @property
    def x_ticks(self) -> Sequence[Label]:
        """The ticks from left to right."""
        return [Label(self._x(value), text) for value, text in self.x.ticks]

    @property
    def y_ticks(self) -> Sequence[Label]:
        """The ticks from bottom to top."""
        return [Label(self._y(value), text) for value, text in self.y.ticks]

    def _points(self, column: int) -> list[tuple[float, float]]:
        pairs = ((row[0], row[column]) for row in self.table.rows)
        return [(self._x(float(x)), self._y(float(y))) for x, y in pairs if x is not None and y is not None]

    def _path(self, column: int) -> str:
        points = self._points(column)
        if not points:
            return ""
        (x, y), *rest = points
        path = f"M{x:.2f} {y:.2f}"
        if self.steps:
            return path + "".join(f"H{x:.2f}V{y:.2f}" for x, y in rest)
        return path + _through(rest)

    def _band(self, columns: tuple[int, int]) -> str:
        low, high = map(self._points, columns)
        if not low:
            return ""
        return "M" + _through([*low, *reversed(high)])[1:] + "Z"

    def _x(self, value: float) -> float:
        return LEFT + (RIGHT - LEFT) * self.x.at(value)

    def _y(self, value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * self.y.at(value)


def _through(points: Iterable[tuple[float, float]]) -> str:
    return "".join(f"L{x:.2f} {y:.2f}" for x, y in points)
