"""Every list of the admin is a CSV file, too: of the rows that a person sees and has filtered, without formulas."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Team, User
from competitions.models import Competition, Entry, Track


def exported(client: Client, model: Any, filters: str = "") -> list[dict[str, str]]:
    answer = client.get(reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_csv") + filters)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/csv; charset=utf-8"), model
    return list(csv.DictReader(answer.getvalue().decode().splitlines()))


@pytest.mark.slow(5)
def test_every_list_is_a_file_of_all_its_rows_with_as_many_queries_for_more(as_superuser: Client, rows: Any) -> None:
    rows.more()
    before = {}
    for model in admin.site._registry:
        with CaptureQueriesContext(connection) as captured:
            assert len(exported(as_superuser, model)) == model._default_manager.count(), model
        before[model] = len(captured)
    rows.more()
    for model in admin.site._registry:
        with CaptureQueriesContext(connection) as captured:
            exported(as_superuser, model)
        assert len(captured) <= before[model], model


def test_it_has_the_rows_of_the_filters_on_all_pages(as_superuser: Client) -> None:
    User.objects.bulk_create(User(username=f"user-{number}", is_staff=number < 60) for number in range(130))
    assert len(exported(as_superuser, User, "?is_staff__exact=1&q=user-")) == 60
    page = as_superuser.get(reverse("admin:accounts_user_changelist") + "?is_staff__exact=1&q=user-")
    assert 'href="csv/?is_staff__exact=1&amp;q=user-">Download 60 rows as CSV' in page.content.decode()
    assert as_superuser.post(reverse("admin:accounts_user_csv")).status_code == 405, "it changes nothing"
    assert as_superuser.get(reverse("admin:accounts_user_csv"), {"no_such__exact": 1}).status_code == 400


@pytest.mark.usefixtures("entry")
def test_a_cell_is_plain_text_and_no_formula(as_superuser: Client, competition: Competition) -> None:
    name = '=HYPERLINK("http://example.org")'
    Team.objects.create(slug="x", name=name, created_at=competition.created_at)
    (row,) = exported(as_superuser, Team, "?q=HYPERLINK")
    assert row["name"] == f"'{name}"
    assert all("<" not in cell for cell in exported(as_superuser, Entry)[0].values())
    (shown,) = exported(as_superuser, Competition)
    assert competition.starts_at.isoformat() in shown.values()


def test_organisers_get_the_rows_of_their_competitions_and_others_none(
    as_organiser: Client, competition: Competition, charlie: User
) -> None:
    times = {name: getattr(competition, name) for name in ("created_at", "starts_at", "ends_at")}
    Competition.objects.create(slug="letters", title="Letters", **times)
    assert [row["slug"] for row in exported(as_organiser, Competition)] == [competition.slug]
    assert len(exported(as_organiser, Track)) == competition.tracks.count()
    assert as_organiser.get(reverse("admin:accounts_user_csv")).status_code == 403
    as_organiser.force_login(charlie)
    assert as_organiser.get(reverse("admin:competitions_competition_csv")).status_code == 302
