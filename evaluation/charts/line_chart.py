"""Line chart: one or more curves over a common axis, each with an optional band."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from evaluation.charts.chart_table import Cell, ChartTable
from evaluation.charts.scales import Scale

LEFT, RIGHT, TOP, BOTTOM = 46, 388, 24, 206
"""The drawing area in units of the view box. It is as wide as a phone, so that labels stay readable on one."""


@dataclass(frozen=True)
class Curve:
    """A curve: the column of its values, and the columns of the lower and upper end of its band.

    `number` chooses colour and dash instead of its place among the curves. `dots`: each value has a dot.
    """

    name: str
    column: int
    band: tuple[int, int] | None = None
    number: int | None = None
    dots: bool = False


@dataclass(frozen=True)
class Drawn:
    """A curve as SVG paths. `number` chooses colour and dash, from 1."""

    number: int
    name: str
    path: str
    band: str
    points: str = ""
    """A dot at each value."""
    end: Label | None = None
    """The name of the curve beside its last value."""


@dataclass(frozen=True)
class Label:
    """A tick: its place across the axis, and its text."""

    at: float
    text: str


@dataclass(frozen=True)
class LineChart:
    """Curves over the first column of a table: numbers, or times as text.

    `steps`: the value holds until the next one. `breaks`: an empty cell interrupts a curve, otherwise the curve goes
    on to the next value. `marks`: the column whose texts name events, each a vertical line.
    """

    key: str
    title: str
    description: str
    table: ChartTable
    lines: Sequence[Curve]
    x: Scale
    y: Scale
    x_name: str
    y_name: str
    steps: bool = False
    csv: str = ""
    """Address of the table as CSV."""
    svg: str = ""
    """Address of the drawing as SVG."""
    breaks: bool = False
    marks: int | None = None
    dots: bool = False
    """A dot at each value: between two of them, nothing is known."""

    width: ClassVar[int] = 400
    height: ClassVar[int] = 250
    left: ClassVar[int] = LEFT
    right: ClassVar[int] = RIGHT
    top: ClassVar[int] = TOP
    bottom: ClassVar[int] = BOTTOM

    @cached_property
    def drawn(self) -> Sequence[Drawn]:
        """The curves as paths."""
        return [
            Drawn(
                line.number or number,
                line.name,
                self._path(line.column),
                self._band(line.band) if line.band else "",
                _dots(self._runs(line.column)) if self.dots or line.dots else "",
            )
            for number, line in enumerate(self.lines, start=1)
        ]

    @property
    def x_ticks(self) -> Sequence[Label]:
        """The ticks from left to right."""
        return [Label(self.x_of(value), text) for value, text in self.x.ticks]

    @property
    def y_ticks(self) -> Sequence[Label]:
        """The ticks from bottom to top."""
        return [Label(self.y_of(value), text) for value, text in self.y.ticks]

    @property
    def events(self) -> Sequence[Label]:
        """The events, from left to right."""
        if self.marks is None:
            return []
        marked = ((row[0], row[self.marks]) for row in self.table.rows)
        return [Label(self.x_of(_number(at)), text) for at, text in marked if isinstance(text, str) and text]

    def _runs(self, column: int) -> list[list[tuple[float, float]]]:
        """Return the points of a curve, for each part that is not interrupted."""
        runs: list[list[tuple[float, float]]] = [[]]
        for row in self.table.rows:
            x, y = row[0], row[column]
            if y is not None and x is not None:
                runs[-1].append((self.x_of(_number(x)), self.y_of(_number(y))))
            elif self.breaks and runs[-1]:
                if self.steps:  # the last value holds until here
                    runs[-1].append((self.x_of(_number(x)), runs[-1][-1][1]))
                runs.append([])
        return [run for run in runs if run]

    def _path(self, column: int) -> str:
        return "".join(self._along(run) for run in self._runs(column))

    def _along(self, run: Sequence[tuple[float, float]]) -> str:
        (x, y), *rest = run
        path = f"M{x:.2f} {y:.2f}"
        if self.steps:
            return path + "".join(f"H{x:.2f}V{y:.2f}" for x, y in rest)
        return path + _through(rest)

    def _band(self, columns: tuple[int, int]) -> str:
        pairs = zip(*map(self._runs, columns), strict=True)
        ends = ((self._corners(low), self._corners(high)) for low, high in pairs)
        return "".join(f"M{_through([*low, *reversed(high)])[1:]}Z" for low, high in ends)

    def _corners(self, run: list[tuple[float, float]]) -> list[tuple[float, float]]:
        if not self.steps:
            return run
        turns = pairwise(run)
        return [run[0], *(point for (_, before), (x, y) in turns for point in ((x, before), (x, y)))]

    def x_of(self, value: float) -> float:
        """Return where a value is from left to right, in units of the view box."""
        return self.left + (self.right - self.left) * self.x.at(value)

    def y_of(self, value: float) -> float:
        """Return where a value is from top to bottom."""
        return self.bottom - (self.bottom - self.top) * self.y.at(value)


@dataclass(frozen=True)
class BumpChart(LineChart):
    """Ranks over time: a dot for each rank, and the names beside the last ones instead of a key."""

    width = 400
    height = 330
    left = 24
    right = 250
    top = 30
    bottom = 286

    @cached_property
    def drawn(self) -> Sequence[Drawn]:
        """The curves with dots and names. Of teams with equal ranks, the names stand below each other."""
        found = []
        step = (self.bottom - self.top) / max(1, len(self.lines) - 1)
        for number, line in enumerate(self.lines):
            runs = self._runs(line.column)
            end = Label(self.top + step * number, _shortened(line.name))
            path = "".join(map(self._along, runs))
            found.append(Drawn(number % COLOURS + 1, line.name, path, "", _dots(runs), end))
        return found


COLOURS = 12
"""Number of combinations of colour and dash: `charts.css` has a class for each."""

_NAME_LENGTH = 21


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def _number(cell: Cell) -> float:
    """Return a value of a table as a number: a time in seconds since 1970."""
    return datetime.fromisoformat(cell).timestamp() if isinstance(cell, str) else float(cell or 0)


def _dots(runs: Sequence[Sequence[tuple[float, float]]]) -> str:
    return "".join(f"M{x:.2f} {y:.2f}h0" for run in runs for x, y in run)


def _through(points: Iterable[tuple[float, float]]) -> str:
    return "".join(f"L{x:.2f} {y:.2f}" for x, y in points)
