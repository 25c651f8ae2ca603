"""Sentences about decisions: a pure function of values."""

from __future__ import annotations

from typing import Protocol


class StageWords(Protocol):
    """What a sentence takes of a stage: a row of `RoundStage`, or what a selector makes of it."""

    @property
    def number(self) -> int: ...
    @property
    def samples(self) -> int: ...
    @property
    def ordered_by(self) -> str: ...


class LineWords(Protocol):
    """What it takes of a line of the decision log: a row of `Decision`, or what a selector makes of it."""

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
    """What a stage decided on a player, and by what: "cut in stage 2 on 16 samples: mean rank 31.2, the line was at
    24.9"."""
    if line.inconsistent:
        return (
            f"eliminated in stage {stage.number} on {stage.samples} samples: inconsistent, it did not pass its audits"
        )
    act = f"place {line.place}" if line.kept else "cut"
    by = stage.ordered_by.replace("_", " ")
    measured = f"{by} {_number(line.value)}" if line.value is not None else "it met its own team only"
    cut_line = "" if line.kept or line.cut_line is None else f", the line was at {_number(line.cut_line)}"
    return f"{act} in stage {stage.number} on {stage.samples} samples: {measured}{cut_line}"


def _number(value: float) -> str:
    return f"{value:.4g}"
