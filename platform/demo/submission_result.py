"""A result of a submission, as the demo prints it."""

from __future__ import annotations

from dataclasses import dataclass

from submissions.models import Submission


@dataclass(frozen=True)
class DemoResult:
    """The end of an evaluation: `score` in words, or why there is none. `key` tells it apart from all others."""

    key: str
    submission: Submission
    score: str
    scored: bool = True
    rank: int | None = None
