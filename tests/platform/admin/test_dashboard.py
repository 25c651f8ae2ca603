"""The first page of the admin shows what happens now, and each line leads to its place."""

from __future__ import annotations

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.models import Competition, FreezeWindow, Organiser
from core import clock
from core.disk_space import LEAST_FREE
from pages.status.admin_dashboard import QueueLine, disk_alarms, waiting_alarms
from rounds.models import Round
from submissions.models import Submission


@pytest.fixture
def played(rows: Any) -> Round:
    """A round that is played, of two sets of rows; the other one is published."""
    rows.more()
    rows.more()
    round_ = Round.objects.order_by("pk")[0]
    Round.objects.filter(pk=round_.pk).update(state="playing")
    FreezeWindow.objects.filter(pk=round_.window_id).update(ends_at=clock.now() + timedelta(hours=2))
    return Round.objects.get(pk=round_.pk)


def index(client: Client) -> tuple[Any, str]:
    """Return the context and the text of the first page."""
    page = client.get(reverse("admin:index"))
    assert page.status_code == 200
    return page.context, unescape(page.content.decode())


def test_it_shows_rounds_freezes_queue_and_newest_submissions_with_links(as_superuser: Client, played: Round) -> None:
    context, text = index(as_superuser)
    (line,) = context["rounds"]
    assert line.row == played
    assert line.percent is not None
    (freeze,) = context["freezes"]
    assert freeze.begun
    assert freeze.link == line.link, "the window of a round is changed on the round's page"
    assert [each.pk for each in context["newest"]] == [
        each.pk for each in Submission.objects.order_by("-received_at", "-pk")
    ]
    links = [line.link, *(each.link for each in context["queues"])]
    links += [reverse("admin:submissions_submission_change", args=[each.pk]) for each in context["newest"]]
    for link in links:
        assert f'href="{link}"' in text
        assert as_superuser.get(link).status_code == 200, link


def test_the_queue_of_builds_links_to_exactly_these_submissions(as_superuser: Client, played: Round) -> None:
    Submission.objects.filter(pk=Submission.objects.order_by("pk")[0].pk).update(state="building")
    line = index(as_superuser)[0]["queues"][-1]
    assert line.waiting == as_superuser.get(line.link).context["cl"].result_count == 1


def test_the_queries_of_the_page_do_not_grow_with_the_rows(
    as_superuser: Client, rows: Any, django_assert_max_num_queries: Any
) -> None:
    for _ in range(6):
        rows.more()
    with django_assert_max_num_queries(75):
        index(as_superuser)


def test_organisers_see_their_competitions_alone(as_organiser: Client, played: Round) -> None:
    assert index(as_organiser)[0]["rounds"]
    Organiser.objects.all().delete()
    other = Competition.objects.create(
        slug="other", title="Other", starts_at=clock.now(), ends_at=clock.now(), created_at=clock.now()
    )
    Organiser.objects.create(competition=other, user_id=as_organiser.session["_auth_user_id"])
    context, text = index(as_organiser)
    assert not context["rounds"]
    assert not context["freezes"]
    assert not context["newest"]
    assert played.title not in text


def test_an_empty_site_says_so(as_superuser: Client) -> None:
    text = index(as_superuser)[1]
    assert "There is no competition yet." in text
    assert "None is planned." in text


def test_a_disk_that_is_almost_full_is_an_alarm() -> None:
    assert disk_alarms(LEAST_FREE) == []
    (alarm,) = disk_alarms(LEAST_FREE - 1)
    assert "5,119 MiB free" in alarm.text


def test_work_that_waits_for_more_than_a_day_is_an_alarm() -> None:
    now = clock.now()
    lines = [
        QueueLine("Pieces waiting", 7, now - timedelta(hours=25), 0, "/status"),
        QueueLine("Runs waiting", 7, now - timedelta(hours=23), 0, "/status"),
        QueueLine("Benchmarks waiting", 0, None, 0, "/status"),
    ]
    assert [alarm.title for alarm in waiting_alarms(lines, now)] == ["Pieces waiting, the oldest for more than a day"]
