"""Sentences about decisions: a pure function of values."""

from __future__ import annotations


def why(  # one argument for each number in the sentence
    *,
    stage: int,
    samples: int,
    ordered_by: str,
    value: float | None,
    cut_line: float | None,
    kept: bool,
    place: int,
) -> str:
    """What a stage decided on a player, and by what: "cut in stage 2 on 16 samples: mean rank 31.2, the line was at
    24.9"."""
    act = f"place {place}" if kept else "cut"
    measured = f"{ordered_by.replace('_', ' ')} {_number(value)}" if value is not None else "it met its own team only"
    line = "" if kept or cut_line is None else f", the line was at {_number(cut_line)}"
    return f"{act} in stage {stage} on {samples} samples: {measured}{line}"


def _number(value: float) -> str:
    return f"{value:.4g}"
