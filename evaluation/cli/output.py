"""Output of the command: tables and progress for people, JSON for programs, errors on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

_FILE_WIDTH = 132
"""The width of tables in a file or a pipe."""

OUT = Console(soft_wrap=True, width=None if sys.stdout.isatty() else _FILE_WIDTH)
ERR = Console(stderr=True, soft_wrap=True)


def printable(text: str) -> str:
    """Return `text` without control characters except line ends and tabs; a player must not control a terminal.

    Bytes of file names that are no text are replaced, too.
    """
    return "".join(c if c in "\n\t" or _is_shown(c) else "\ufffd" for c in text)


def _is_shown(character: str) -> bool:
    return character >= " " and not "\x7f" <= character <= "\x9f" and not "\ud800" <= character <= "\udfff"


def say(text: str) -> None:
    """Print a line for people on standard error; standard output is for results."""
    ERR.print(printable(text), markup=False, highlight=False)


def print_error(text: str) -> None:
    """Print an error on standard error."""
    ERR.print(f"gauntlet: {printable(text)}", style="red", markup=False, highlight=False)


def print_json(value: Any) -> None:
    """Print `value` as JSON on standard output."""
    sys.stdout.write(json.dumps(value, indent=1) + "\n")


def as_it_is(text: str) -> Text:
    """Return a text of other people for a cell of a table, without control characters and without markup."""
    return Text(printable(text))


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Text]], *, text: Sequence[int] = ()
) -> None:
    """Print a table on standard output. Columns in `text` contain words and may wrap; the others contain numbers.

    Brackets in strings, such as those of file names, are no markup.
    """
    named = Text(printable(title), style="bold")
    table = Table(title=named, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        if index in text:
            longest = max((len(row[index]) for row in rows), default=0)
            table.add_column(as_it_is(column), overflow="fold", min_width=min(12, longest))
        else:
            table.add_column(as_it_is(column), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else as_it_is(cell) for cell in row))
    OUT.print(table)


def print_facts(rows: Sequence[tuple[str, str]]) -> None:
    """Print names and what they have, one below the other, on standard output."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, as_it_is(value))
    OUT.print(table)


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show a spinner with `text` if standard error is a terminal."""
    if not ERR.is_terminal:
        yield
        return
    with ERR.status(text):
        yield


class ProgressBar:
    """A visible or a silent progress bar."""

    def __init__(self, progress: Progress | None, total: int, text: str) -> None:
        self._progress = progress
        self._task = progress.add_task(text, total=total) if progress else None

    def step(self, count: int = 1, text: str | None = None, total: int | None = None) -> None:
        """Advance by `count`; `text` replaces the text before the bar, `total` the number of steps in all."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=count, description=text, total=total)


@contextmanager
def progress_bar(total: int, text: str) -> Iterator[ProgressBar]:
    """Show a bar on standard error with elapsed and remaining time; silent if that is not a terminal."""
    if not ERR.is_terminal:
        yield ProgressBar(None, total, text)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=ERR, transient=True) as progress:
        yield ProgressBar(progress, total, text)
