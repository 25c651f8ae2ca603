"""Freeze windows in the admin: editable before they begin, changed only by actions afterwards."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from competitions.models import Competition, FreezeWindow
from core.models import Event

# far enough from the time of the test run
TOMORROW = timezone.now().replace(minute=0, second=0, microsecond=0) + timedelta(days=1)
DAY = timedelta(days=1)
ADD = "admin:competitions_freezewindow_add"


def page(window: FreezeWindow, name: str = "change") -> str:
    return reverse(f"admin:competitions_freezewindow_{name}", args=[window.pk])


def form(competition: Competition, *, starts: timedelta = DAY * 0, ends: timedelta = DAY) -> dict[str, Any]:
    start, end = TOMORROW + starts, TOMORROW + ends
    return {
        "competition": competition.pk,
        "starts_at_0": f"{start:%Y-%m-%d}",
        "starts_at_1": f"{start:%H:%M:%S}",
        "ends_at_0": f"{end:%Y-%m-%d}",
        "ends_at_1": f"{end:%H:%M:%S}",
        "reason": "development round 1",
    }


@pytest.fixture
def planned(as_organiser: Client, competition: Competition) -> FreezeWindow:
    as_organiser.post(reverse(ADD), form(competition))
    return FreezeWindow.objects.get()


def begin(window: FreezeWindow) -> None:
    window.starts_at = TOMORROW - 2 * DAY
    window.save()


def test_a_window_is_planned_and_changed_before_it_begins_with_the_reason_in_an_event(
    as_organiser: Client, olga: User, competition: Competition
) -> None:
    assert as_organiser.post(reverse(ADD), form(competition)).status_code == 302
    window = FreezeWindow.objects.get()
    event = Event.objects.get()
    assert (event.verb, event.subject, event.by) == ("plan", f"freezewindow:{window.pk}", olga)
    assert event.reason == "development round 1"
    changed = form(competition, ends=2 * DAY) | {"why": "a day more"}
    assert as_organiser.post(page(window), changed).status_code == 302
    window.refresh_from_db()
    assert window.ends_at == TOMORROW + 2 * DAY
    event = Event.objects.get(verb="change")
    assert (event.subject, event.by, event.reason) == (f"freezewindow:{window.pk}", olga, "a day more")
    assert event.data["before"]["ends_at"] == (TOMORROW + DAY).isoformat()
    assert event.data["ends_at"] == (TOMORROW + 2 * DAY).isoformat()


@pytest.mark.parametrize(
    ("starts", "ends", "named"),
    [
        (-3 * DAY, -2 * DAY, "would begin in the past"),
        (DAY, DAY / 2, "ends before it begins"),
        (DAY / 2, 2 * DAY, "overlaps the freeze window"),
    ],
)
def test_it_rejects_an_invalid_window(
    as_organiser: Client, planned: FreezeWindow, starts: timedelta, ends: timedelta, named: str
) -> None:
    response = as_organiser.post(reverse(ADD), form(planned.competition, starts=starts, ends=ends))
    assert named in str(response.context["adminform"].form.errors)
    assert FreezeWindow.objects.get() == planned


def test_it_rejects_a_window_in_another_competition(as_organiser: Client, competition: Competition) -> None:
    other = Competition.objects.create(
        slug="letters", title="Letters", starts_at=TOMORROW, ends_at=TOMORROW + DAY, created_at=TOMORROW
    )
    response = as_organiser.post(reverse(ADD), form(other))
    assert "Select a valid choice" in response.content.decode()
    assert not FreezeWindow.objects.exists()


def test_it_rejects_a_change_without_a_reason(as_organiser: Client, planned: FreezeWindow) -> None:
    response = as_organiser.post(page(planned), form(planned.competition, ends=2 * DAY))
    assert response.context["adminform"].form.errors.keys() == {"why"}
    planned.refresh_from_db()
    assert planned.ends_at == TOMORROW + DAY


@pytest.mark.parametrize("what", ["begun", "called off", "a round's"])
def test_it_rejects_edits_of_windows_that_only_actions_change(
    as_organiser: Client, planned: FreezeWindow, competition: Competition, rows: Any, what: str
) -> None:
    if what == "begun":
        begin(planned)
    elif what == "called off":
        FreezeWindow.objects.update(called_off_at=TOMORROW - DAY)
    else:
        rows.more()
        planned = FreezeWindow.objects.get(round__isnull=False)
        FreezeWindow.objects.filter(pk=planned.pk).update(starts_at=TOMORROW + 2 * DAY, ends_at=TOMORROW + 3 * DAY)
    assert as_organiser.get(page(planned)).status_code == 200
    asked = form(competition, starts=4 * DAY, ends=5 * DAY) | {"why": "another day"}
    assert as_organiser.post(page(planned), asked).status_code == 403


def test_windows_are_called_off_and_never_deleted(as_organiser: Client, olga: User, planned: FreezeWindow) -> None:
    assert as_organiser.post(page(planned, "delete"), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [planned.pk], "post": "yes"}
    as_organiser.post(reverse("admin:competitions_freezewindow_changelist"), chosen)
    assert FreezeWindow.objects.exists()
    as_organiser.post(page(planned, "call_off"), {"confirmed": "yes", "reason": "a slip"})
    planned.refresh_from_db()
    assert planned.called_off_at is not None
    assert Event.objects.get(verb="call_off", by=olga).reason == "a slip"


def test_a_rounds_window_is_called_off_only_with_the_round(as_organiser: Client, rows: Any) -> None:
    rows.more()
    window = FreezeWindow.objects.get(round__isnull=False)
    FreezeWindow.objects.filter(pk=window.pk).update(starts_at=TOMORROW, ends_at=TOMORROW + DAY)
    refused = as_organiser.post(page(window, "call_off"), {"confirmed": "yes", "reason": "a slip"}, follow=True)
    assert "cancel the round" in refused.content.decode()
    window.refresh_from_db()
    assert window.called_off_at is None


def test_a_window_is_opened_extended_and_ended(as_organiser: Client, olga: User, planned: FreezeWindow) -> None:
    why = {"confirmed": "yes", "reason": "as announced"}
    end = TOMORROW + 2 * DAY
    later = why | {"ends_at_0": f"{end:%Y-%m-%d}", "ends_at_1": f"{end:%H:%M:%S}"}
    for action, data in (("open_now", why), ("extend", later), ("end_now", why)):
        assert as_organiser.get(page(planned, action)).status_code == 200
        assert as_organiser.post(page(planned, action), data).status_code == 302
    planned.refresh_from_db()
    assert planned.starts_at < planned.ends_at <= timezone.now()
    found = Event.objects.filter(by=olga, reason="as announced").order_by("pk")
    assert list(found.values_list("verb", flat=True)) == ["open", "extend", "end"]
    refused = as_organiser.post(page(planned, "end_now"), why, follow=True)
    assert "ended at" in refused.content.decode()
