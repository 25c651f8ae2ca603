"""Progress of a submission: the state and the steps that its page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext_noop

from leaderboards.models import Evaluation
from submissions.models import Build, Submission

STEPS = (
    gettext_noop("Received"),
    gettext_noop("Build"),
    gettext_noop("Smoke test"),
    gettext_noop("Evaluation"),
    gettext_noop("Score"),
)
_RECEIVED, _BUILD, _SMOKE, _EVALUATION = range(4)
_UNDER_WAY = {
    Submission.State.RECEIVED: _RECEIVED,
    Submission.State.BUILDING: _BUILD,
    Submission.State.CHECKING: _SMOKE,
}


@dataclass(frozen=True)
class Step:
    """A step. `status` is "done", "now", "ended" (the submission ended here) or "" (not started)."""

    name: str
    status: str


def steps_of(submission: Submission, evaluation: Evaluation | None, builds: Sequence[Build]) -> list[Step]:
    """Return the steps of a submission; `builds` are all its builds, the newest last."""
    return _steps(*_place(submission, evaluation, builds))


def _steps(at: int, ended: bool) -> list[Step]:
    return [
        Step(name, "done" if number < at else ("ended" if ended else "now") if number == at else "")
        for number, name in enumerate(STEPS)
    ]


def steps_before_evaluation(submission: Submission, builds: Sequence[Build], *, scored: bool) -> list[Step]:
    """Return the steps of a submission without an evaluation; `scored`: it has a score all the same."""
    at, ended = (len(STEPS), False) if scored else _place(submission, None, builds)
    return _steps(at, ended)


def state_of(submission: Submission, evaluation: Evaluation | None) -> Submission.State | Evaluation.State:
    """Return the state to show: that of the evaluation while the submission is ready, otherwise its own."""
    if evaluation is not None and submission.state == Submission.State.READY:
        return Evaluation.State(evaluation.state)
    return Submission.State(submission.state)


def _place(submission: Submission, evaluation: Evaluation | None, builds: Sequence[Build]) -> tuple[int, bool]:
    """Return the current step, and whether the submission ended there."""
    state = Submission.State(submission.state)
    if state in _UNDER_WAY:
        return _UNDER_WAY[state], False
    if evaluation is not None and evaluation.state == Evaluation.State.SCORED:
        return len(STEPS), False
    if state == Submission.State.READY:
        return _EVALUATION, evaluation is not None and evaluation.state == Evaluation.State.VOID
    # rejected or withdrawn
    if evaluation is not None or submission.player_id is not None:
        return _EVALUATION, True
    if not builds:
        return _RECEIVED, True
    return (_SMOKE if builds[-1].checks_began_at else _BUILD), True
