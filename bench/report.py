"""Markdown of the measurements, and the part of docs/performance.md that is written by the bench."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BEGIN = "<!-- bench: written by `make bench` from here -->"
END = "<!-- bench: to here -->"


@dataclass(frozen=True)
class Section:
    """One measurement: its heading and the lines below it."""

    title: str
    lines: Sequence[str]

    def text(self) -> str:
        """As Markdown."""
        return "\n".join([f"### {self.title}", "", *self.lines, ""])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table; the first column left, the others right."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return ["| " + " | ".join(cells) + " |" for cells in (header, rule, *rows)]


def machine() -> str:
    """What it was measured on, without names of hosts."""
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {versions}"


def write_generated(page: Path, text: str) -> None:
    """Replace what stands between the marks of `page`. Raises ValueError where a mark is missing."""
    old = page.read_text(encoding="utf-8")
    if BEGIN not in old or END not in old:
        raise ValueError(f"{page} lacks the marks {BEGIN!r} and {END!r}")
    before, after = old.split(BEGIN)[0], old.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
