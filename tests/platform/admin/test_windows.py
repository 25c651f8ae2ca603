"""Freeze windows in the admin: planned with a form, changed by acts once they have begun, deleted only before."""

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

# far enough from the hour at which the tests run
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
        "reason": "top-five round 1",
    }


@pytest.fixture
def planned(as_organiser: Client, competition: Competition) -> FreezeWindow:
    as_organiser.post(reverse(ADD), form(competition))
    return FreezeWindow.objects.get()


def begin(window: FreezeWindow) -> None:
    window.starts_at = TOMORROW - 2 * DAY
    window.save()


def test_it_works(as_organiser: Client, olga: User, competition: Competition) -> None:
    assert as_organiser.post(reverse(ADD), form(competition)).status_code == 302
    window = FreezeWindow.objects.get()
    event = Event.objects.get()
    assert (event.verb, event.subject, event.by) == ("plan", f"freezewindow:{window.pk}", olga)
    assert event.reason == "top-five round 1"
    changed = form(competition, ends=2 * DAY)
    assert as_organiser.post(page(window), changed).status_code == 302
    window.refresh_from_db()
    assert window.ends_at == TOMORROW + 2 * DAY
    assert Event.objects.get(verb="freezewindow.changed").data == {"fields": ["ends_at"]}


@pytest.mark.parametrize(
    ("starts", "ends", "named"),
    [
        (-3 * DAY, -2 * DAY, "would begin in the past"),
        (DAY, DAY / 2, "ends before it begins"),
        (DAY / 2, 2 * DAY, "overlaps the freeze window"),
    ],
)
def test_it_rejects_a_window_that_cannot_be(
    as_organiser: Client, planned: FreezeWindow, starts: timedelta, ends: timedelta, named: str
) -> None:
    answer = as_organiser.post(reverse(ADD), form(planned.competition, starts=starts, ends=ends))
    assert named in str(answer.context["adminform"].form.errors)
    assert FreezeWindow.objects.get() == planned


def test_it_rejects_a_window_in_a_foreign_competition(as_organiser: Client, competition: Competition) -> None:
    other = Competition.objects.create(
        slug="letters", title="Letters", starts_at=TOMORROW, ends_at=TOMORROW + DAY, created_at=TOMORROW
    )
    answer = as_organiser.post(reverse(ADD), form(other))
    assert "Select a valid choice" in answer.content.decode()
    assert not FreezeWindow.objects.exists()


def test_one_that_has_not_begun_is_deleted_and_one_that_has_is_not_even_changed(
    as_organiser: Client, planned: FreezeWindow, competition: Competition
) -> None:
    begin(planned)
    assert as_organiser.post(page(planned), form(competition)).status_code == 403
    assert as_organiser.post(page(planned, "delete"), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [planned.pk], "post": "yes"}
    assert as_organiser.post(reverse("admin:competitions_freezewindow_changelist"), chosen).status_code == 403
    FreezeWindow.objects.update(starts_at=TOMORROW)
    as_organiser.post(page(planned, "delete"), {"post": "yes"})
    assert not FreezeWindow.objects.exists()
    assert Event.objects.filter(verb="freezewindow.deleted").exists()


def test_one_of_a_round_is_not_deleted(as_organiser: Client, rows: Any) -> None:
    rows.more()
    window = FreezeWindow.objects.get(round__isnull=False)
    FreezeWindow.objects.update(starts_at=TOMORROW, ends_at=TOMORROW + DAY)
    as_organiser.post(page(window, "delete"), {"post": "yes"})
    assert FreezeWindow.objects.filter(pk=window.pk).exists()


def test_a_window_is_opened_extended_and_ended(as_organiser: Client, olga: User, planned: FreezeWindow) -> None:
    why = {"confirmed": "yes", "reason": "as announced"}
    end = TOMORROW + 2 * DAY
    later = why | {"ends_at_0": f"{end:%Y-%m-%d}", "ends_at_1": f"{end:%H:%M:%S}"}
    for act, data in (("open_now", why), ("extend", later), ("end_now", why)):
        assert as_organiser.get(page(planned, act)).status_code == 200
        assert as_organiser.post(page(planned, act), data).status_code == 302
    planned.refresh_from_db()
    assert planned.starts_at < planned.ends_at <= timezone.now()
    found = Event.objects.filter(by=olga, reason="as announced").order_by("pk")
    assert list(found.values_list("verb", flat=True)) == ["open", "extend", "end"]
    refused = as_organiser.post(page(planned, "end_now"), why, follow=True)
    assert "ended at" in refused.content.decode()
