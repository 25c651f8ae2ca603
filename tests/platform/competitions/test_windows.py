"""Freeze windows: plan, open, extend, end and call off, and when submissions are accepted again."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from datetime import datetime, timedelta, timezone
from typing import Protocol

import pytest
import tomli_w
from django.db import connections

from accounts.models import User
from competitions.freeze_windows import call_off_window, end_window, extend_window, open_window, plan_window
from competitions.models import Competition, FreezeWindow, SampleSet
from competitions.services import export_competition, import_competition
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


CHANGES = {"open": open_window, "extend": extend_by_an_hour, "end": end_window, "call_off": call_off_window}


@pytest.fixture
def plan(competition: Competition, olga: User, the_clock: Clock) -> Plan:
    """Factory that plans a window, with times in hours from noon."""
    noon = the_clock.at

    def make(starts: float = 1, ends: float = 3, reason: str = "round 1", by: User = olga) -> FreezeWindow:
        times = {"starts_at": noon + starts * HOUR, "ends_at": noon + ends * HOUR}
        return plan_window(competition=competition, **times, reason=reason, by=by)

    return make


def accepted_from(competition: Competition) -> datetime | None:
    """Return when submissions will be accepted again, None if they are accepted now."""
    try:
        check_calendar(competition)
    except RefusedForNow as refused:
        return refused.accepted_from
    return None


def test_a_planned_window_is_an_event_and_closes_submissions_once_it_begins(
    plan: Plan, olga: User, the_clock: Clock
) -> None:
    window = plan()
    event = Event.objects.get()
    assert (event.verb, event.subject, event.by, event.reason) == ("plan", f"freezewindow:{window.pk}", olga, "round 1")
    assert accepted_from(window.competition) is None
    the_clock.forward(hours=1)
    assert accepted_from(window.competition) == window.ends_at


def test_a_rejected_submission_shows_the_current_end(plan: Plan, olga: User, the_clock: Clock) -> None:
    noon, window = the_clock.at, plan(1, 3)
    competition = window.competition
    plan(5, 6, "round 2")
    the_clock.forward(minutes=30)
    open_window(window=window, by=olga, reason="all is ready")
    assert accepted_from(competition) == noon + 2.5 * HOUR
    extend_window(window=window, ends_at=noon + 5 * HOUR, by=olga, reason="a worker is away")
    # the window that follows directly counts, too
    assert accepted_from(competition) == noon + 6 * HOUR
    the_clock.forward(minutes=30)
    end_window(window=window, by=olga, reason="done early")
    assert accepted_from(competition) is None
    assert (window.starts_at, window.ends_at) == (noon + HOUR / 2, noon + HOUR)
    recorded = [(event.verb, event.reason) for event in Event.objects.filter(subject=f"freezewindow:{window.pk}")]
    assert recorded == [
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
        (1, 7000 * 366 * 24, "for ever", "is out of range"),
        (4, 4, "none", "ends before it begins"),
        (5, 4, "back", "ends before it begins"),
        (2, 4, "twice", "overlaps the freeze window 'round 1'"),
        (0.5, 9, "around", "overlaps the freeze window 'round 1'"),
        (5, 6, "  ", "needs a reason"),
        (5, 6, "x" * 201, "needs a reason"),
    ],
)
def test_it_rejects_an_invalid_window(plan: Plan, starts: float, ends: float, reason: str, named: str) -> None:
    plan()
    with pytest.raises(Refusal, match=named):
        plan(starts, ends, reason)
    assert FreezeWindow.objects.count() == 1


def test_a_window_planned_for_a_moment_ago_begins_now(plan: Plan, the_clock: Clock) -> None:
    window = plan(-1 / 60, 2, "now")
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


def test_it_rejects_people_who_are_not_organisers(plan: Plan, alice: User) -> None:
    with pytest.raises(Refusal, match="only organisers"):
        plan(by=alice)
    window = plan()
    for change in (open_window, end_window):
        with pytest.raises(Refusal, match="only organisers"):
            change(window=window, by=alice, reason="")


def test_it_rejects_changes_at_a_wrong_time(plan: Plan, olga: User, the_clock: Clock) -> None:
    window = plan()
    with pytest.raises(Refusal, match="has not begun"):
        end_window(window=window, by=olga, reason="")
    with pytest.raises(Refusal, match="already ends at 2026-11-21 15:00 UTC"):
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
    first, second = plan(1, 3), plan(4, 6, "round 2")
    with pytest.raises(Refusal, match="overlaps the freeze window 'round 2'"):
        extend_window(window=first, ends_at=the_clock.at + 4.5 * HOUR, by=olga, reason="")
    with pytest.raises(Refusal, match="overlaps the freeze window 'round 1'"):
        open_window(window=second, by=olga, reason="")


def test_a_window_that_is_opened_before_others_ends_before_them(plan: Plan, olga: User, the_clock: Clock) -> None:
    noon, window = the_clock.at, plan(50, 52, "final")
    plan(5, 6, "round 1")
    open_window(window=window, by=olga, reason="all is ready")
    assert (window.starts_at, window.ends_at) == (noon, noon + 2 * HOUR)


def test_a_window_that_was_called_off_has_no_effect(
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
    assert accepted_from(competition) is None


def test_an_active_window_that_is_called_off_ends(plan: Plan, olga: User, the_clock: Clock) -> None:
    window = plan(0, 2)
    the_clock.forward(minutes=2)
    call_off_window(window=window, by=olga, reason="a slip")
    assert (window.ends_at, window.called_off_at) == (the_clock.at, None)
    # the same start again, a moment ago; the first window is within it
    assert plan(0, 2).starts_at == the_clock.at


def test_a_window_can_be_called_off_at_its_start(plan: Plan, olga: User) -> None:
    window = plan(0, 2)
    call_off_window(window=window, by=olga, reason="a slip")
    assert accepted_from(window.competition) is None
    assert plan(0, 2).starts_at == window.starts_at


def test_overlaps_in_the_past_block_no_change(plan: Plan, olga: User, the_clock: Clock) -> None:
    window = plan(0, 2)
    the_clock.forward(hours=1)
    past = {"starts_at": window.starts_at, "ends_at": the_clock.at}
    FreezeWindow.objects.create(competition=window.competition, reason="from before", **past)
    extend_window(window=window, ends_at=window.ends_at + HOUR, by=olga, reason="")
    assert window.ends_at == the_clock.at + 2 * HOUR
    end_window(window=window, by=olga, reason="")
    assert window.ends_at == the_clock.at


def test_an_import_adds_no_overlapping_window(
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


@pytest.mark.parametrize("changes", ["open", "extend", "open extend", "open end", "call_off"])
def test_an_import_keeps_windows_changed_by_organisers(
    plan: Plan, competition: Competition, keep_set: Callable[..., SampleSet], olga: User, the_clock: Clock, changes: str
) -> None:
    for purpose, split in (("development", "dev"), ("validation", "validation")):
        keep_set(purpose, split, purpose)
    window = plan(5, 7)
    planned = export_competition(competition)
    for change in changes.split():
        the_clock.forward(minutes=1, seconds=0.25)
        CHANGES[change](window=window, by=olga, reason="as it must be")
    saved = FreezeWindow.objects.values().get()
    elsewhere = deepcopy(planned)
    for name in ("starts_at", "ends_at"):  # the same moments
        elsewhere["freeze_windows"][0][name] = planned["freeze_windows"][0][name].astimezone(timezone(2 * HOUR))
    for file in (planned, elsewhere, tomllib.loads(tomli_w.dumps(export_competition(competition)))):
        import_competition(file)
        assert FreezeWindow.objects.values().get() == saved


@pytest.mark.django_db(transaction=True)
def test_of_two_overlapping_windows_planned_concurrently_one_is_rejected(plan: Plan) -> None:
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
