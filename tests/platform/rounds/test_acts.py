"""The acts on a round: in which state each is taken, by whom, and what it leaves in the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from accounts.models import User
from competitions.models import Entry
from core import store
from core.errors import Refusal
from core.models import Event
from rounds import services
from rounds.models import Round, RoundEntry

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import Hall

ACTS: dict[str, Callable[..., None]] = {
    "freeze": services.freeze,
    "start": services.start,
    "pause": services.pause,
    "resume": services.resume,
    "cancel": services.cancel,
    "publish": services.publish,
}
TAKEN = {
    "planned": {"freeze": "frozen", "cancel": "cancelled"},
    "frozen": {"start": "playing", "cancel": "cancelled"},
    "playing": {"pause": "paused", "cancel": "cancelled"},
    "paused": {"resume": "playing", "cancel": "cancelled"},
    "scored": {"publish": "published", "cancel": "cancelled"},
    "published": {},
    "cancelled": {},
}
NEXT = {
    "planned": "freeze it",
    "frozen": "start it",
    "playing": "wait until it is scored",
    "paused": "resume it",
    "scored": "look at the preview",
    "published": "a correction is a new round",
    "cancelled": "plan another round",
}


def brought_to(hall: Hall, state: str) -> Round:
    """A round of two on each side in `state`."""
    hall.field(2, 2)
    round = hall.plan(samples=8)
    hall.clock.at = round.window.starts_at
    act: dict[str, Any] = {"round": round, "by": hall.organiser}
    ways: dict[str, list[Callable[[], Any]]] = {
        "planned": [],
        "frozen": [lambda: services.freeze(**act)],
        "playing": [lambda: hall.begin(round)],
        "paused": [lambda: hall.begin(round), lambda: services.pause(**act)],
        "scored": [lambda: hall.scored(round)],
        "published": [lambda: hall.scored(round), lambda: services.publish(**act)],
        "cancelled": [lambda: services.cancel(**act, reason="a test")],
    }
    for step in ways[state]:
        step()
    round.refresh_from_db()
    assert round.state == state
    return round


@pytest.mark.parametrize("state", TAKEN)
def test_each_act_is_taken_in_its_state_alone(hall: Hall, state: str) -> None:
    round = brought_to(hall, state)
    for name, act in ACTS.items():
        if name not in TAKEN[state]:
            with pytest.raises(Refusal, match=f"is {state} and cannot be") as refusal:
                act(round=round, by=hall.organiser, reason="a test")
            assert NEXT[state] in refusal.value.fix
            round.refresh_from_db()
            assert round.state == state


@pytest.mark.parametrize(("state", "name"), [(state, name) for state, acts in TAKEN.items() for name in acts])
def test_it_works(hall: Hall, rings: list[str], state: str, name: str) -> None:
    round = brought_to(hall, state)
    rings.clear()
    hall.clock.forward(minutes=1)
    ACTS[name](round=round, by=hall.organiser, reason="for the log")
    assert (round.state, round.state_since) == (TAKEN[state][name], hall.clock.at)
    event = Event.objects.filter(subject=f"round:{round.pk}", verb=name).latest("pk")
    assert (event.by, event.reason) == (hall.organiser, "for the log")
    assert ("rounds.conduct" in rings) == (name in {"start", "resume"})


@pytest.mark.parametrize("name", ACTS)
def test_it_rejects_whoever_is_no_organiser(hall: Hall, alice: User, name: str) -> None:
    state = next(state for state, acts in TAKEN.items() if name in acts)
    round = brought_to(hall, state)
    with pytest.raises(Refusal, match="only organisers"):
        ACTS[name](round=round, by=alice, reason="please")
    round.refresh_from_db()
    assert round.state == state


def test_it_rejects_a_cancellation_without_a_reason(hall: Hall) -> None:
    with pytest.raises(Refusal, match="needs a reason"):
        services.cancel(round=hall.plan(), by=hall.organiser, reason=" ")


@pytest.fixture
def entry(hall: Hall) -> RoundEntry:
    """An entry of a final whose licence nobody knows."""
    hall.field(1, 2)
    hall.submission("owls", "model", 1, licence="LicenseRef-owls")
    round = hall.begin(hall.plan("final", samples=8))
    return round.entries.get(submission__title="owls 1")


def test_a_licence_is_confirmed_and_refused_by_organisers(hall: Hall, entry: RoundEntry) -> None:
    services.confirm_licence(entry=entry, by=hall.organiser, reason="the text is the MIT licence")
    assert (entry.eligible, entry.ineligible_because) == (True, "")
    with pytest.raises(Refusal, match="eligible already"):
        services.confirm_licence(entry=entry, by=hall.organiser, reason="once more")
    services.refuse_licence(entry=entry, by=hall.organiser, reason="weights are not free")
    assert (entry.eligible, entry.ineligible_because) == (False, "its licence was refused: weights are not free")
    events = Event.objects.filter(verb__endswith="_licence").order_by("pk").values_list("verb", "by", "data__entry")
    assert list(events) == [(verb, hall.organiser.pk, entry.pk) for verb in ("confirm_licence", "refuse_licence")]


def test_a_licence_judged_after_the_end_stands_in_the_outcome(hall: Hall, entry: RoundEntry) -> None:
    before = hall.run(entry.round).outcome
    services.confirm_licence(entry=entry, by=hall.organiser, reason="the text is the MIT licence")
    entry.round.refresh_from_db()
    assert entry.round.outcome != before
    assert store.get(entry.round.outcome).count(b'"eligible":true') == store.get(before).count(b'"eligible":true') + 1


def test_it_rejects_a_licence_judged_wrongly(hall: Hall, entry: RoundEntry, alice: User) -> None:
    with pytest.raises(Refusal, match="only organisers"):
        services.confirm_licence(entry=entry, by=alice, reason="it is mine")
    with pytest.raises(Refusal, match="needs a reason"):
        services.confirm_licence(entry=entry, by=hall.organiser, reason="")
    Entry.objects.filter(team__slug="owls").update(ineligible_for_prizes=True)
    entry.refresh_from_db()
    with pytest.raises(Refusal, match="without prizes"):
        services.confirm_licence(entry=RoundEntry.objects.get(pk=entry.pk), by=hall.organiser, reason="it is free")


def test_it_rejects_a_licence_once_the_round_is_published(hall: Hall, entry: RoundEntry) -> None:
    hall.run(entry.round)
    services.publish(round=entry.round, by=hall.organiser)
    with pytest.raises(Refusal, match="is published and cannot be judged"):
        services.confirm_licence(entry=entry, by=hall.organiser, reason="too late")
