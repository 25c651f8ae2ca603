"""Markdown of the measurements, and the generated part of docs/performance.md."""

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
        """The section as Markdown."""
        return "\n".join([f"### {self.title}", "", *self.lines, ""])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table; the first column is left-aligned, the others right-aligned."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return ["| " + " | ".join(cells) + " |" for cells in (header, rule, *rows)]


def machine() -> str:
    """Return a description of this machine without host names."""
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {versions}"


def write_generated(page: Path, text: str) -> None:
    """Replace the text between the marks of `page`. Raise ValueError where a mark is missing."""
    before, _, after = _parted(page)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


def write_sections(page: Path, sections: Sequence[Section]) -> None:
    """Replace or add `sections` between the marks of `page`; other sections stay.

    Raise ValueError where a mark is missing, or the other sections were measured on another type of machine.
    """
    head, *written = f"\n{_parted(page)[1].strip()}".split("\n### ")
    if head.strip() != f"{machine()}.":
        raise ValueError(f"{page} was measured on another machine ({head.strip()}): write all sections")
    by_title = {text.splitlines()[0]: f"### {text.strip()}\n" for text in written}
    by_title |= {section.title: section.text() for section in sections}
    write_generated(page, "\n".join([f"{head.strip()}\n", *by_title.values()]))


def _parted(page: Path) -> tuple[str, str, str]:
    """Return the text before, between and after the marks."""
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{page} does not have the marks {BEGIN!r} and {END!r}")
    before, rest = text.split(BEGIN)
    between, after = rest.split(END)
    return before, between, after
