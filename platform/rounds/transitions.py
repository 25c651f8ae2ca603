"""The life of a round: who may act on it, in which state, and how it goes from one to the next. Part of the services.

`planned`, by `freeze` to `frozen`, by `start` to `playing` (to `paused` and back), by itself to `scored`, by `publish`
to `published`. Until then `cancel` ends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import transaction

from competitions.models import Competition
from competitions.selectors import may_organise
from core import clock, events
from core.errors import Refusal
from rounds.models import Round

if TYPE_CHECKING:
    from accounts.models import User

State = Round.State

_NEXT = {
    State.PLANNED: "freeze it when its window has begun",
    State.FROZEN: "start it",
    State.PLAYING: "wait until it is scored, or pause it",
    State.PAUSED: "resume it",
    State.SCORED: "look at the preview, then publish it",
    State.PUBLISHED: "it never changes any more: a correction is a new round, or a rejudging",
    State.CANCELLED: "plan another round",
}
"""What can be done with a round in each state."""


def require_organiser(by: User, competition: Competition) -> None:
    """Raise `Refusal` for anybody but organisers of the competition."""
    if not may_organise(by, competition):
        raise Refusal(f"only organisers of {competition.title} run its rounds", fix="ask one of them")


def require_reason(reason: str, act: str) -> str:
    """The reason, stripped; raises `Refusal` where there is none."""
    if not reason.strip():
        raise Refusal(f"{act} needs a reason, which teams read", fix="write one")
    return reason.strip()


def lock_competition(round_: Round) -> None:
    """Let one act at a time decide what is under way and on the calendar. Before the round itself is locked."""
    Competition.objects.select_for_update(no_key=True).get(pk=round_.competition_id)


def locked(round_: Round) -> Round:
    """The round as it is now, in the caller's transaction until that ends."""
    return Round.objects.select_for_update(of=("self",), no_key=True).select_related("competition").get(pk=round_.pk)


def require_state(round_: Round, *states: Round.State, act: str) -> None:
    """Raise `Refusal` where the round is in none of `states`; `act` is what is tried, as in "paused"."""
    if round_.state not in states:
        raise Refusal(
            f"{round_.title} is {round_.get_state_display()} and cannot be {act}", fix=_NEXT[State(round_.state)]
        )


def move(held: Round, state: Round.State, verb: str, *, by: User | None, reason: str, **data: Any) -> None:
    """Bring a locked round into `state`, with an event. Its problem ends with the state that had it."""
    held.state, held.state_since, held.problem = state, clock.database_now(), ""
    held.save()
    events.record(verb, held, by=by, reason=reason, **data)


def record_problem(round_: Round, problem: str) -> None:
    """Say on the round what keeps it from going on; one event for each time that something begins to."""
    standing = Round.objects.filter(pk=round_.pk, state=round_.state)
    with transaction.atomic():
        if problem and standing.filter(problem="").update(problem=problem):
            events.record("stop", round_, reason=problem)
        else:
            standing.exclude(problem=problem).update(problem=problem)
