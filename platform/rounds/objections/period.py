"""The period for objections to a round, and whether its result is final. Both follow from rows; nothing is swept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from core import clock
from core.time_format import to_minute
from rounds.models import Objection, Round


@dataclass(frozen=True)
class ResultState:
    """The state of the result of a published round with a period for objections.

    `until` is when the period ends, `open` the number of objections without an answer. `final`: the period is over, and
    every objection has an answer.
    """

    until: datetime
    over: bool
    open: int

    @property
    def final(self) -> bool:
        return self.over and not self.open


def period_end(round_: Round) -> datetime | None:
    """Return when the period for objections to a round ends, None before its publication and without a period.

    It is a whole minute, as people read it.
    """
    if round_.state != Round.State.PUBLISHED or not round_.objection_days:
        return None
    return to_minute(round_.state_since + timedelta(days=round_.objection_days))


def result_state(round_: Round) -> ResultState | None:
    """Return the state of the result of a round, None before its publication and without a period for objections."""
    until = period_end(round_)
    if until is None:
        return None
    waiting = Objection.objects.filter(round=round_, state=Objection.State.OPEN).count()
    return ResultState(until, over=clock.database_now() >= until, open=waiting)
