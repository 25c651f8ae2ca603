"""Output of several instances of one player, where a failing one says the same each time that it is started."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby


def without_repetition(logs: Sequence[str]) -> str:
    """Return the outputs in a row; equal ones that follow each other once, with the number of further ones."""
    parts: list[str] = []
    for log, same in groupby(filter(None, logs)):
        further = sum(1 for _ in same) - 1
        end = "" if log.endswith("\n") else "\n"
        times = "once more" if further == 1 else f"{further} more times"
        parts.append(log if not further else f"{log}{end}(the same output {times}, after a new start)\n")
    return "".join(parts)
