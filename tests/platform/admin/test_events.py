"""The log of events in the admin: sentences with filters and a CSV file, for organisers those of their competitions."""

from __future__ import annotations

import csv
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from accounts.models import User
from competitions.models import Competition, Organiser, Track
from core import event_log
from core.administration.admin_base_classes import ReadOnlyAdmin
from core.models import Event
from core.roles import OrganiserRole

EVENTS = reverse("admin:core_event_changelist")


@pytest.fixture
def elsewhere(competition: Competition, charlie: User) -> Competition:
    """Another competition, with an event of Charlie."""
    other = Competition.objects.create(
        slug="letters", title="Letters", starts_at=competition.starts_at, ends_at=competition.ends_at,
        created_at=competition.created_at,
    )  # fmt: skip
    track = Track.objects.create(competition=other, name="model", title="Model")
    event_log.record("track.changed", track, by=charlie, fields=["quota"])
    return other


def exported(client: Client, filters: str = "") -> list[dict[str, str]]:
    answer = client.get(f"{EVENTS}csv/{filters}")
    assert answer.status_code == 200
    return list(csv.DictReader(answer.getvalue().decode().splitlines()))


def test_organisers_see_and_download_the_events_of_their_competitions(
    as_organiser: Client, olga: User, competition: Competition, elsewhere: Competition, tracks: dict[str, Track]
) -> None:
    track = tracks["model"]
    form = {"title": track.title, "text": "Robust.", "quota": 7, "baselines": "[]", "initial-baselines": "[]"}
    as_organiser.post(reverse("admin:competitions_track_change", args=[track.pk]), form)
    event_log.record("revoke_tokens", olga, by=olga, tokens=1)  # of no competition
    page = as_organiser.get(EVENTS)
    assert [event.sentence for event in page.context["cl"].queryset] == [
        f"olga changed text, quota of track {track.pk}."
    ]
    assert f"olga changed text, quota of track {track.pk}." in page.content.decode()
    (row,) = exported(as_organiser)
    assert (row["competition"], row["by"], row["verb"]) == ("digits", "olga", "track.changed")
    foreign = Event.objects.get(by__username="charlie")
    assert as_organiser.get(reverse("admin:core_event_change", args=[foreign.pk])).status_code == 302
    Organiser.objects.filter(user=olga).update(role=OrganiserRole.HELPER)
    assert as_organiser.get(EVENTS).status_code == 403


def test_the_file_has_the_events_of_the_filters(
    as_superuser: Client, olga: User, competition: Competition, elsewhere: Competition
) -> None:
    own = event_log.record("import", competition, by=olga)
    Event.objects.filter(by=olga).update(at="2020-02-02T12:00:00Z")
    of_digits, of_olga = {"scope": f"competition:{competition.pk}"}, {"by__id__exact": olga.pk}
    before = {"at__gte": "2020-01-01 00:00:00+00:00", "at__lt": "2021-01-01 00:00:00+00:00"}
    for each in (of_digits, of_olga, {"verb": "import"}, before, {"q": "olga"}, of_digits | of_olga | before):
        filters = urlencode(each)
        assert [row["id"] for row in exported(as_superuser, f"?{filters}")] == [str(own.pk)], filters
        assert f'href="csv/?{escape(filters)}"' in as_superuser.get(f"{EVENTS}?{filters}").content.decode(), filters
    assert not exported(as_superuser, f"?scope=competition:{elsewhere.pk}&verb=import")


def test_the_events_of_every_row_belong_to_the_competition_of_those_who_see_it(rows: Any, olga: User) -> None:
    rows.more()
    competition = olga.organised_competitions.get()
    for model, page in admin.site._registry.items():
        row = model._default_manager.first()
        if model is not Event and row is not None and isinstance(page, ReadOnlyAdmin):
            scope = event_log.record("make", row).scope
            assert scope == (event_log.name_of(competition) if page.organised_by else ""), model
