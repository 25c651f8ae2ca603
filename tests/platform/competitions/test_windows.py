"""Freeze windows as organisers plan, open, extend and end them, and what the door tells meanwhile."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Protocol

import pytest
import tomli_w
from django.db import connections

from accounts.models import User
from competitions.models import Competition, FreezeWindow, SampleSet
from competitions.services import (
    call_off_window,
    end_window,
    export_competition,
    extend_window,
    import_competition,
    open_window,
    plan_window,
)
from core.errors import Refusal, RefusedForNow
from core.models import Event
from submissions.admission import check_calendar


class Clock(Protocol):
    at: datetime

    def forward(self, **by: float) -> datetime: ...


Plan = Callable[..., FreezeWindow]

HOUR = timedelta(hours=1)


def extend_by_an_hour(*, window: FreezeWindow, by: User, reason: str) -> None:
    extend_window(window=window, ends_at=window.ends_at + HOUR, by=by, reason=reason)


ACTS = {"open": open_window, "extend": extend_by_an_hour, "end": end_window, "call_off": call_off_window}


@pytest.fixture
def plan(competition: Competition, olga: User, the_clock: Clock) -> Plan:
    """Plans a window by hours from noon."""
    noon = the_clock.at

    def make(starts: float = 1, ends: float = 3, reason: str = "round 1", by: User = olga) -> FreezeWindow:
        times = {"starts_at": noon + starts * HOUR, "ends_at": noon + ends * HOUR}
        return plan_window(competition=competition, **times, reason=reason, by=by)

    return make


def told(competition: Competition) -> datetime | None:
    """When the door will accept something again, None where it does now."""
    try:
        check_calendar(competition)
    except RefusedForNow as refused:
        return refused.accepted_from
    return None


def test_it_works(plan: Plan, olga: User, the_clock: Clock) -> None:
    window = plan()
    event = Event.objects.get()
    assert (event.verb, event.subject, event.by, event.reason) == ("plan", f"freezewindow:{window.pk}", olga, "round 1")
    assert told(window.competition) is None
    the_clock.forward(hours=1)
    assert told(window.competition) == window.ends_at


def test_the_door_tells_the_time_that_holds(plan: Plan, olga: User, the_clock: Clock) -> None:
    noon, window = the_clock.at, plan(1, 3)
    competition = window.competition
    plan(5, 6, "round 2")
    the_clock.forward(minutes=30)
    open_window(window=window, by=olga, reason="all is ready")
    assert told(competition) == noon + 3 * HOUR
    extend_window(window=window, ends_at=noon + 5 * HOUR, by=olga, reason="a worker is away")
    # until the one that follows at once is over, too
    assert told(competition) == noon + 6 * HOUR
    the_clock.forward(minutes=30)
    end_window(window=window, by=olga, reason="done early")
    assert told(competition) is None
    assert (window.starts_at, window.ends_at) == (noon + HOUR / 2, noon + HOUR)
    acts = [(event.verb, event.reason) for event in Event.objects.filter(subject=f"freezewindow:{window.pk}")]
    assert acts == [
        ("end", "done early"),
        ("extend", "a worker is away"),
        ("open", "all is ready"),
        ("plan", "round 1"),
    ]
    assert Event.objects.get(verb="end").data["before"]["ends_at"] == (noon + 5 * HOUR).isoformat()


@pytest.mark.parametrize(
    ("starts", "ends", "reason", "named"),
    [
        (-1, 2, "late", "would begin in the past"),
        (4, 4, "none", "ends before it begins"),
        (5, 4, "back", "ends before it begins"),
        (2, 4, "twice", "overlaps the freeze window 'round 1'"),
        (0.5, 9, "around", "overlaps the freeze window 'round 1'"),
        (5, 6, "  ", "needs a reason"),
        (5, 6, "x" * 201, "needs a reason"),
    ],
)
def test_it_rejects_a_window_that_cannot_be(plan: Plan, starts: float, ends: float, reason: str, named: str) -> None:
    plan()
    with pytest.raises(Refusal, match=named):
        plan(starts, ends, reason)
    assert FreezeWindow.objects.count() == 1


def test_a_window_planned_for_a_moment_ago_begins_now(plan: Plan, the_clock: Clock) -> None:
    window = plan(-1 / 60, 2, "at once")
    assert window.starts_at == the_clock.at


def test_windows_may_touch_and_other_competitions_have_their_own(
    plan: Plan, competition: Competition, the_clock: Clock
) -> None:
    plan(1, 3)
    plan(3, 5)
    plan(0, 1)
    other = Competition.objects.create(
        slug="letters", title="Letters", starts_at=the_clock.at, ends_at=competition.ends_at, created_at=the_clock.at
    )
    root = User.objects.create_superuser("root")
    times = {"starts_at": the_clock.at + HOUR, "ends_at": the_clock.at + 2 * HOUR}
    assert plan_window(competition=other, **times, reason="round 1", by=root).pk


def test_it_rejects_who_organises_nothing(plan: Plan, alice: User) -> None:
    with pytest.raises(Refusal, match="only organisers"):
        plan(by=alice)
    window = plan()
    for act in (open_window, end_window):
        with pytest.raises(Refusal, match="only organisers"):
            act(window=window, by=alice, reason="")


def test_it_rejects_acts_at_a_wrong_time(plan: Plan, olga: User, the_clock: Clock) -> None:
    window = plan()
    with pytest.raises(Refusal, match="has not begun"):
        end_window(window=window, by=olga, reason="")
    with pytest.raises(Refusal, match="ends at 2026-11-21 15:00 UTC already"):
        extend_window(window=window, ends_at=window.ends_at, by=olga, reason="")
    the_clock.forward(hours=2)
    with pytest.raises(Refusal, match="began at 2026-11-21 13:00 UTC"):
        open_window(window=window, by=olga, reason="")
    the_clock.forward(hours=1)
    with pytest.raises(Refusal, match="ended at"):
        extend_window(window=window, ends_at=the_clock.at + HOUR, by=olga, reason="")
    with pytest.raises(Refusal, match="ended at"):
        end_window(window=window, by=olga, reason="")
    window.refresh_from_db()
    assert window.ends_at == the_clock.at


def test_it_rejects_an_opening_or_an_extension_into_another_window(plan: Plan, olga: User, the_clock: Clock) -> None:
    first, second = plan(1, 3), plan(4, 5, "round 2")
    with pytest.raises(Refusal, match="overlaps the freeze window 'round 2'"):
        extend_window(window=first, ends_at=the_clock.at + 4.5 * HOUR, by=olga, reason="")
    with pytest.raises(Refusal, match="overlaps the freeze window 'round 1'"):
        open_window(window=second, by=olga, reason="")


def test_what_is_called_off_closes_nothing_and_is_in_nobodys_way(
    plan: Plan, competition: Competition, olga: User, the_clock: Clock
) -> None:
    running, coming = plan(0, 2, "round 1"), plan(3, 5, "round 2")
    the_clock.forward(hours=1)
    call_off_window(window=coming, by=olga, reason="no entries")
    assert (coming.called_off_at, coming.ends_at - coming.starts_at) == (the_clock.at, 2 * HOUR)
    assert [window["reason"] for window in export_competition(competition)["freeze_windows"]] == ["round 1"]
    with pytest.raises(Refusal, match="was called off"):
        open_window(window=coming, by=olga, reason="")
    extend_window(window=running, ends_at=the_clock.at + HOUR * 2.5, by=olga, reason="a worker is away")
    end_window(window=running, by=olga, reason="done")
    the_clock.forward(hours=2)
    assert told(competition) is None


def test_what_is_called_off_while_it_holds_ends(plan: Plan, olga: User, the_clock: Clock) -> None:
    window = plan(0, 2)
    the_clock.forward(minutes=2)
    call_off_window(window=window, by=olga, reason="a slip")
    assert (window.ends_at, window.called_off_at) == (the_clock.at, None)
    # the same start once more: it is a moment ago, and the first window lies in it
    assert plan(0, 2).starts_at == the_clock.at


def test_a_window_planned_at_its_own_start_is_called_off_there(plan: Plan, olga: User) -> None:
    window = plan(0, 2)
    call_off_window(window=window, by=olga, reason="a slip")
    assert told(window.competition) is None
    assert plan(0, 2).starts_at == window.starts_at


def test_windows_that_overlap_in_the_past_hold_up_no_act(plan: Plan, olga: User, the_clock: Clock) -> None:
    window = plan(0, 2)
    the_clock.forward(hours=1)
    past = {"starts_at": window.starts_at, "ends_at": the_clock.at}
    FreezeWindow.objects.create(competition=window.competition, reason="from before", **past)
    extend_window(window=window, ends_at=window.ends_at + HOUR, by=olga, reason="")
    assert window.ends_at == the_clock.at + 2 * HOUR
    end_window(window=window, by=olga, reason="")
    assert window.ends_at == the_clock.at


def test_a_file_adds_no_window_that_overlaps(
    plan: Plan, competition: Competition, keep_set: Callable[..., SampleSet]
) -> None:
    for purpose, split in (("development", "dev"), ("validation", "validation")):
        keep_set(purpose, split, purpose)
    window = plan()
    written = export_competition(competition)
    assert import_competition(written).freeze_windows.get() == window
    written["freeze_windows"][0]["ends_at"] += HOUR
    with pytest.raises(Refusal, match=r"\[\[freeze_windows\]\] number 1: it overlaps"):
        import_competition(written)


@pytest.mark.parametrize("acts", ["open", "extend", "open extend", "open end", "call_off"])
def test_a_file_leaves_alone_what_acts_have_changed(
    plan: Plan, competition: Competition, keep_set: Callable[..., SampleSet], olga: User, the_clock: Clock, acts: str
) -> None:
    for purpose, split in (("development", "dev"), ("validation", "validation")):
        keep_set(purpose, split, purpose)
    window = plan(5, 7)
    planned = export_competition(competition)
    for act in acts.split():
        the_clock.forward(minutes=1, seconds=0.25)
        ACTS[act](window=window, by=olga, reason="as it must be")
    stands = FreezeWindow.objects.values().get()
    for file in (planned, tomllib.loads(tomli_w.dumps(export_competition(competition)))):
        import_competition(file)
        assert FreezeWindow.objects.values().get() == stands


@pytest.mark.django_db(transaction=True)
def test_of_two_that_overlap_and_are_planned_at_once_one_is_refused(plan: Plan) -> None:
    def attempt(number: int) -> bool:
        try:
            plan(1 + number, 4 + number, f"round {number}")
        except Refusal:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(attempt, range(2))) == [False, True]
    assert FreezeWindow.objects.count() == 1
