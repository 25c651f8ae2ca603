"""How far a submission has come, as steps that a page draws."""

from __future__ import annotations

from dataclasses import dataclass

from leaderboards.models import Evaluation
from submissions.models import Submission

STEPS = ("Received", "Build", "Smoke stage", "Evaluation", "Score")
_UNDER_WAY = {Submission.State.RECEIVED: 0, Submission.State.BUILDING: 1, Submission.State.CHECKING: 2}


@dataclass(frozen=True)
class Step:
    """`stand` is "done", "now", "ended" (here it stopped) or "" (still to come)."""

    name: str
    stand: str


def way(submission: Submission, evaluation: Evaluation | None, *, checked: bool) -> list[Step]:
    """The steps of a submission; `checked`: its smoke stage had begun."""
    at, ended = _place(submission, evaluation, checked=checked)
    return [
        Step(name, "done" if number < at else ("ended" if ended else "now") if number == at else "")
        for number, name in enumerate(STEPS)
    ]


def _place(submission: Submission, evaluation: Evaluation | None, *, checked: bool) -> tuple[int, bool]:
    state = Submission.State(submission.state)
    if state in _UNDER_WAY:
        return _UNDER_WAY[state], False
    if state == Submission.State.REFUSED:
        return (2 if checked else 1), True
    if state == Submission.State.WITHDRAWN:
        return 0, True
    if evaluation is None or evaluation.state == Evaluation.State.PLAYING:
        return 3, False
    return (len(STEPS), False) if evaluation.state == Evaluation.State.SCORED else (3, True)
