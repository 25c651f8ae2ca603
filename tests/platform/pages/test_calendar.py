"""Calendar of a competition, freeze notices and countdowns."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from icalendar import Calendar as File

from accounts.models import User
from competitions.models import Competition, FreezeWindow
from core.time_format import until
from pages.competition.calendar import reopening
from rounds.models import Round
from submissions.models import Submission

PAGE = "/competitions/digits"


def freeze(competition: Competition, starts_at: datetime, hours: float, reason: str = "round 1") -> FreezeWindow:
    """Create a freeze window of this many hours."""
    return FreezeWindow.objects.create(
        competition=competition, starts_at=starts_at, ends_at=starts_at + timedelta(hours=hours), reason=reason
    )


def test_planned_freezes_have_a_countdown_and_stand_before_the_past_ones(
    client: Client, competition: Competition, the_clock: Any
) -> None:
    freeze(competition, the_clock.at + timedelta(hours=51), 72, "round 2")
    freeze(competition, the_clock.at - timedelta(days=9), 72, "round 1")
    page = client.get(PAGE).content.decode()
    calendar = page[page.index('id="calendar"') :].split("</section>")[0]
    assert "Submissions freeze" in calendar
    assert '<span class="nowrap" data-until="2026-11-23T15:00:00Z">in 2 d 3 h</span>' in calendar
    assert '<time datetime="2026-11-23T15:00:00Z" title="2026-11-23 15:00:00 UTC" data-local>' in calendar
    assert calendar.index("round 2") < calendar.index("Past") < calendar.index("round 1")


@pytest.mark.parametrize("page", [PAGE, "/teams/owls"])
def test_a_freeze_is_shown_on_every_page_for_submitting(
    client: Client, shown: dict[str, Submission], competition: Competition, bob: User, the_clock: Any, page: str
) -> None:
    client.force_login(bob)
    assert "freeze" not in client.get("/teams/owls").content.decode().lower()
    freeze(competition, the_clock.at - timedelta(minutes=19), 1, "development round 1")
    text = client.get(page).content.decode()
    assert "Submissions are frozen: development round 1" in text
    assert "in 41 min" in text
    the_clock.forward(minutes=41)
    assert "are frozen" not in client.get(page).content.decode()


@pytest.mark.parametrize("days_before_the_end", [1, -1])
def test_a_freeze_until_after_the_end_promises_no_reopening(
    client: Client,
    shown: dict[str, Submission],
    competition: Competition,
    bob: User,
    the_clock: Any,
    days_before_the_end: int,
) -> None:
    client.force_login(bob)
    the_clock.at = competition.ends_at - timedelta(days=days_before_the_end)
    freeze(competition, the_clock.at, 72, "the final")
    for page in (PAGE, "/teams/owls", "/competitions"):
        text = client.get(page).content.decode()
        assert "open again in" not in text, page
        assert "open again <" not in text, page
        assert ("They do not open again before the end of the competition" in text) == (page != "/competitions"), page
        assert ("The competition ends" in text) == (days_before_the_end > 0 and "teams" not in page), page


def test_a_cancelled_window_does_not_close_submissions(
    client: Client, planned: Round, competition: Competition, the_clock: Any
) -> None:
    planned.state = Round.State.CANCELLED
    planned.save()
    freeze(competition, the_clock.at - timedelta(hours=1), 3, "called off")
    FreezeWindow.objects.update(called_off_at=the_clock.at)
    page = client.get(PAGE).content.decode()
    calendar = page[page.index('id="calendar"') :].split("</section>")[0]
    assert "Round 1</a>" in calendar
    assert "Cancelled <time" in calendar
    assert "Submissions are closed from" not in calendar
    assert "called off" not in calendar
    assert "The competition ends" in calendar
    assert ">Cancelled</h2>" in client.get(f"{PAGE}/rounds/1").content.decode()


def test_windows_without_a_gap_are_one_freeze(competition: Competition, the_clock: Any) -> None:
    first = freeze(competition, the_clock.at, 2)
    second = freeze(competition, first.ends_at, 3)
    later = freeze(competition, second.ends_at + timedelta(minutes=1), 3)
    windows = [later, second, first]
    assert reopening(windows, the_clock.at) == second.ends_at
    assert reopening(windows, second.ends_at) is None
    assert reopening([], the_clock.at) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (51 * 3600, "in 2 d 3 h"),
        (86400, "in 1 d 0 h"),
        (2 * 86400 + 1, "in 2 d 1 h"),
        (86400 - 1, "in 1 d 0 h"),
        (3 * 3600 + 5 * 60 + 59, "in 3 h 6 min"),
        (41 * 60, "in 41 min"),
        (59, "in 1 min"),
        (0, "now"),
        (-5, "now"),
    ],
)
def test_countdowns_have_two_units_and_end_no_earlier_than_they_say(seconds: float, words: str) -> None:
    assert until(seconds) == words


def test_calendar_programs_read_it(client: Client, planned: Round, competition: Competition, the_clock: Any) -> None:
    freeze(competition, the_clock.at - timedelta(days=9), 72, "maintenance, and more; all\nof it")
    answer = client.get(f"{PAGE}/calendar.ics")
    assert answer.headers["Content-Type"] == "text/calendar; charset=utf-8"
    events = {str(event["summary"]): event for event in File.from_ical(answer.content).walk("VEVENT")}
    title = competition.title
    assert set(events) == {
        f"{title} starts", f"{title} ends", f"{title}: {planned.title}", f"{title}: maintenance, and more; all\nof it",
    }  # fmt: skip
    round_ = events[f"{title}: {planned.title}"]
    assert (round_.decoded("dtstart"), round_.decoded("dtend")) == (planned.window.starts_at, planned.window.ends_at)
    assert str(round_["url"]) == f"http://testserver{PAGE}/rounds/{planned.number}"
    assert {str(event["status"]) for event in events.values() if "status" in event} == {"CONFIRMED"}
    again = client.get(f"{PAGE}/calendar.ics", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_an_event_keeps_its_id_when_it_moves_or_is_cancelled(client: Client, planned: Round, the_clock: Any) -> None:
    def of_round() -> Any:
        events = File.from_ical(client.get(f"{PAGE}/calendar.ics").content).walk("VEVENT")
        return next(event for event in events if planned.title in str(event["summary"]))

    before = of_round()
    FreezeWindow.objects.update(starts_at=planned.window.starts_at - timedelta(hours=1), called_off_at=the_clock.at)
    after = of_round()
    assert str(after["uid"]) == str(before["uid"])
    assert after.decoded("dtstart") == before.decoded("dtstart") - timedelta(hours=1)
    assert str(after["status"]) == "CANCELLED"
