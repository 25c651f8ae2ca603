"""State machine of a round: its transitions, and the checks before them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import transaction

from competitions.models import Competition
from competitions.permissions import require_not_archived
from core import clock, event_log
from core.errors import Refusal, RefusedInState
from rounds.models import Round

if TYPE_CHECKING:
    from accounts.models import User

State = Round.State


class Transition(NamedTuple):
    """A change of a round's state; `done` is the participle of its verb."""

    done: str
    sources: tuple[Round.State, ...]
    target: Round.State
    by_organisers: bool = True
    """Whether the page of a round offers it to organisers in the states `sources`."""


TRANSITIONS: Mapping[str, Transition] = {
    "freeze": Transition("frozen", (State.PLANNED,), State.FROZEN),
    "start": Transition("started", (State.FROZEN,), State.PLAYING),
    "pause": Transition("paused", (State.PLAYING,), State.PAUSED),
    "resume": Transition("resumed", (State.PAUSED,), State.PLAYING),
    "score": Transition("scored", (State.PLAYING,), State.SCORED, by_organisers=False),
    "override_audit": Transition("played again", (State.SCORED,), State.PLAYING, by_organisers=False),
    "publish": Transition("published", (State.SCORED,), State.PUBLISHED),
    "cancel": Transition("cancelled", (State.PLANNED, *Round.UNDER_WAY), State.CANCELLED),
}
"""All changes of state, by the verb that the event log has. A round begins as planned."""


class NextStep(NamedTuple):
    """What brings a round forward: the verb of a transition, "" at the end, and what organisers do, in words."""

    verb: str
    advice: str


NEXT_STEPS: Mapping[Round.State, NextStep] = {
    State.PLANNED: NextStep("freeze", "freeze it when its window has begun"),
    State.FROZEN: NextStep("start", "start it"),
    State.PLAYING: NextStep("score", "wait until it is scored, or pause it"),
    State.PAUSED: NextStep("resume", "resume it"),
    State.SCORED: NextStep("publish", "check the preview, then publish it"),
    State.PUBLISHED: NextStep("", "no action is possible: a correction is a new round, or a rejudging"),
    State.CANCELLED: NextStep("", "plan another round"),
}
"""The next step in each state."""


def require_reason(reason: str, act: str) -> str:
    """Return the reason, stripped; raise `Refusal` if it is empty."""
    if not reason.strip():
        raise Refusal(f"{act} needs a reason, which teams can read", fix="enter a reason")
    return reason.strip()


def lock_competition(round_: Round, *, archived: bool = False) -> None:
    """Serialise actions that change what is under way or on the calendar. Lock it before the round.

    Raise `Refusal` if the competition is archived, unless `archived` allows it.
    """
    competition = Competition.objects.select_for_update(no_key=True).get(pk=round_.competition_id)
    if not archived:
        require_not_archived(competition)


def locked(round_: Round) -> Round:
    """Return the round as it is now, locked until the end of the caller's transaction."""
    return Round.objects.select_for_update(of=("self",), no_key=True).select_related("competition").get(pk=round_.pk)


def offered(state: Round.State) -> list[str]:
    """Return the verbs of the transitions that organisers can make in `state`."""
    return [verb for verb, each in TRANSITIONS.items() if each.by_organisers and state in each.sources]


def acts_in(state: Round.State) -> list[str]:
    """Return the verbs of what a round in `state` offers to organisers; the services check the rest."""
    return [*offered(state), *(("release", "withdraw") if state == State.PUBLISHED else ())]


def require_possible(round_: Round, verb: str) -> None:
    """Raise `Refusal` if the transition `verb` does not begin in the round's state."""
    require_state(round_, *TRANSITIONS[verb].sources, act=TRANSITIONS[verb].done)


def require_state(round_: Round, *states: Round.State, act: str) -> None:
    """Raise `Refusal` if the round is in none of `states`; `act` is a participle, as in "paused"."""
    if round_.state not in states:
        raise RefusedInState(
            f"{round_.title} is {round_.get_state_display()} and cannot be {act}",
            state=round_.state,
            fix=NEXT_STEPS[State(round_.state)].advice,
        )


def move(current: Round, verb: str, *, by: User | None, reason: str, **data: Any) -> None:
    """Make the transition `verb` of a locked round, with an event. A problem of the previous state is cleared."""
    require_possible(current, verb)
    current.state, current.state_since, current.problem = TRANSITIONS[verb].target, clock.database_now(), ""
    current.save()
    event_log.record(verb, current, by=by, reason=reason, **data)


NO_WORKER = "No worker that plays was seen recently, and nothing is played without one. Start one."
"""The problem of a round for which nobody plays."""

STUCK = (
    "{} failed several times, on one host or because of hosts. Fix the host or start another one, or choose Retry now "
    "or Give up in the list of {}."
)
"""The problem of a round in which work waits after faults."""


def record_problem(round_: Round, problem: str) -> None:
    """Store on the round what stops it, with one event per problem."""
    standing = Round.objects.filter(pk=round_.pk, state=round_.state)
    with transaction.atomic():
        if problem and standing.filter(problem="").update(problem=problem):
            event_log.record("stop", round_, reason=problem)
        else:
            standing.exclude(problem=problem).update(problem=problem)
