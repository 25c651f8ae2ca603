"""Decisions as sentences: a pure function of values."""

from __future__ import annotations

from typing import Protocol

from evaluation.domain.translatable_text import Text


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


_MEASURES = {"median": Text("median"), "mean_rank": Text("mean rank")}


def why(stage: StageWords, line: LineWords) -> Text:
    """Return what a stage decided on a player, and why: "cut in stage 2 on 16 samples: mean rank 31.2, threshold
    24.9"."""
    at = {"stage": str(stage.number), "samples": str(stage.samples)}
    if line.inconsistent:
        return Text("eliminated in stage %(stage)s on %(samples)s samples: inconsistent, it failed its audits", **at)
    if line.value is None:
        measured = Text("it met only its own team")
    else:
        measured = Text("%(measure)s %(value)s", measure=_MEASURES[stage.ordered_by], value=_rounded(line.value))
    if line.kept:
        return Text(
            "place %(place)s in stage %(stage)s on %(samples)s samples: %(measured)s",
            place=str(line.place),
            measured=measured,
            **at,
        )
    if line.cut_line is None:
        return Text("cut in stage %(stage)s on %(samples)s samples: %(measured)s", measured=measured, **at)
    return Text(
        "cut in stage %(stage)s on %(samples)s samples: %(measured)s, threshold %(cut_line)s",
        measured=measured,
        cut_line=_rounded(line.cut_line),
        **at,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
