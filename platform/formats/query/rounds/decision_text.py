"""Decisions as sentences: a pure function of values."""

from __future__ import annotations

from typing import Protocol

from core import rounding


class StageWords(Protocol):
    """The fields of a stage that a sentence needs: a row of `RoundStage`, or a selector's view of it."""

    @property
    def number(self) -> int: ...
    @property
    def samples(self) -> int: ...
    @property
    def ordered_by(self) -> str: ...


class LineWords(Protocol):
    """The fields of a decision that a sentence needs: a row of `Decision`, or a selector's view of it."""

    @property
    def place(self) -> int: ...
    @property
    def value(self) -> float | None: ...
    @property
    def cut_line(self) -> float | None: ...
    @property
    def kept(self) -> bool: ...
    @property
    def inconsistent(self) -> bool: ...


_MEASURES = {"median": "median", "mean_rank": "mean rank"}


def why(stage: StageWords, line: LineWords) -> str:
    """Return what a stage decided on a player, and why: "cut in stage 2 on 16 samples: mean rank 31.2, threshold
    24.9"."""
    at = f"in stage {stage.number} on {stage.samples} samples"
    if line.inconsistent:
        return f"eliminated {at}: inconsistent, it failed its audits"
    if line.value is None:
        measured = "it met only its own team"
    else:
        measured = f"{_MEASURES[stage.ordered_by]} {_rounded(line.value)}"
    if line.kept:
        return f"place {line.place} {at}: {measured}"
    if line.cut_line is None:
        return f"cut {at}: {measured}"
    return f"cut {at}: {measured}, threshold {_rounded(line.cut_line)}"


def _rounded(value: float) -> str:
    """Return a median or a mean rank with four digits, and no more decimals than the API has of a distance."""
    return f"{float(f'{rounding.distance(value):.4g}'):,g}"
