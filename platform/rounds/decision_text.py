"""Decisions as sentences: a pure function of values."""

from __future__ import annotations

from typing import Protocol


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


def why(stage: StageWords, line: LineWords) -> str:
    """Return what a stage decided on a player, and why: "cut in stage 2 on 16 samples: mean rank 31.2, threshold
    24.9"."""
    if line.inconsistent:
        return f"eliminated in stage {stage.number} on {stage.samples} samples: inconsistent, it failed its audits"
    act = f"place {line.place}" if line.kept else "cut"
    by = stage.ordered_by.replace("_", " ")
    measured = f"{by} {_number(line.value)}" if line.value is not None else "it met only its own team"
    cut_line = "" if line.kept or line.cut_line is None else f", threshold {_number(line.cut_line)}"
    return f"{act} in stage {stage.number} on {stage.samples} samples: {measured}{cut_line}"


def _number(value: float) -> str:
    return f"{value:.4g}"
