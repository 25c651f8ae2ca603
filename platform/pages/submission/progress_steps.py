"""Progress of a submission: the steps that its page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from submissions.models import Build, Submission

STEPS = (
    "Received",
    "Build",
    "Smoke test",
    "Evaluation",
    "Score",
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


def steps_of(
    submission: Submission, builds: Sequence[Build], *, scored: bool, measured: bool = False, void: bool = False
) -> list[Step]:
    """Return the steps of a submission; `builds` are all its builds, the newest last.

    `scored`: it has a score. `measured`: an evaluation of it began, which ended without a score if `void`.
    """
    at, ended = _place(submission, builds, scored=scored, measured=measured, void=void)
    return [
        Step(name, "done" if number < at else ("ended" if ended else "now") if number == at else "")
        for number, name in enumerate(STEPS)
    ]


def _place(
    submission: Submission, builds: Sequence[Build], *, scored: bool, measured: bool, void: bool
) -> tuple[int, bool]:
    """Return the current step, and whether the submission ended there."""
    state = Submission.State(submission.state)
    if state in _UNDER_WAY:
        return _UNDER_WAY[state], False
    if scored:
        return len(STEPS), False
    if state == Submission.State.READY:
        return _EVALUATION, void
    # rejected or withdrawn
    if measured or submission.player_id is not None:
        return _EVALUATION, True
    if not builds:
        return _RECEIVED, True
    return (_SMOKE if builds[-1].checks_began_at else _BUILD), True
