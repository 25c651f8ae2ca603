"""What organisers change of a competition and its tracks in forms: a value that pages could not show is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.models import Competition, RulesVersion, Track


def sent(client: Client, row: Competition | Track, **values: Any) -> str:
    """Save the form of a row with other values; return its errors, "" if it was saved."""
    page = reverse(f"admin:competitions_{row._meta.model_name}_change", args=[row.pk])
    form = client.get(page).context["adminform"].form
    data: dict[str, Any] = {}
    for name in [*form.fields, *(["seen"] if "seen" in values else [])]:
        value = values[name] if name in values else form[name].value()
        if isinstance(value, datetime):
            data |= {f"{name}_0": value.date().isoformat(), f"{name}_1": f"{value:%H:%M:%S}"}
        elif value is not None and value is not False:
            data[name] = value
    answer = client.post(page, data)
    row.refresh_from_db()
    return "" if answer.status_code == 302 else str(answer.context["adminform"].form.errors)


@pytest.mark.parametrize("zone", ["", "Pacific/Auckland", "America/Lima"])
def test_a_competition_has_times_that_every_page_can_write(
    as_organiser: Client, competition: Competition, rules: RulesVersion, zone: str
) -> None:
    before = competition.ends_at
    never, first = datetime.max.replace(microsecond=0, tzinfo=UTC), datetime.min.replace(tzinfo=UTC)
    for name, at in (("ends_at", never), ("starts_at", first)):
        errors = sent(as_organiser, competition, **{name: at})
        assert f"the year {at.year} is out of range: choose one from 1970 to 8999" in errors
    assert competition.ends_at == before
    last = datetime(8999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert sent(as_organiser, competition, starts_at=datetime(1970, 1, 1, tzinfo=UTC), ends_at=last) == ""
    assert competition.ends_at == last
    as_organiser.cookies["gauntlet_time_zone"] = zone
    assert as_organiser.get("/").status_code == as_organiser.get("/competitions").status_code == 200


def test_forms_name_the_zone_of_times(as_organiser: Client, competition: Competition) -> None:
    """In January nothing else tells somebody in London that a window in July is an hour off."""
    change = reverse("admin:competitions_competition_change", args=[competition.pk])
    for page in (change, reverse("admin:competitions_freezewindow_add")):
        fields = as_organiser.get(page).context["adminform"].form.fields
        assert fields["starts_at"].help_text == fields["ends_at"].help_text == "UTC."


def test_a_form_that_was_open_while_somebody_else_saved_does_not_undo_that(
    as_organiser: Client, competition: Competition, rules: RulesVersion
) -> None:
    """Otherwise a new deadline goes with the next correction of a text, by a person who had the page open."""
    page = reverse("admin:competitions_competition_change", args=[competition.pk])
    opened = re.findall(r'name="seen" value="([0-9a-f]{64})"', as_organiser.get(page).content.decode())
    assert len(opened) == 1
    extended = competition.ends_at + timedelta(days=7)
    for _ in range(2):  # by two clicks
        assert sent(as_organiser, competition, ends_at=extended, seen=opened[0]) == ""
    stale = {"summary": "Robust classifiers.", "ends_at": extended - timedelta(days=7), "seen": opened[0]}
    errors = sent(as_organiser, competition, **stale)
    assert "Digits has changed since you opened this form, so nothing was saved" in errors
    assert (competition.ends_at, competition.summary) == (extended, "Handwritten digits.")
    assert "has changed" in sent(as_organiser, competition, **stale), "a second time, too"
    (now,) = re.findall(r'name="seen" value="([0-9a-f]{64})"', as_organiser.get(page).content.decode())
    assert sent(as_organiser, competition, summary="Robust classifiers.", seen=now) == ""
    assert (competition.ends_at, competition.summary) == (extended, "Robust classifiers.")


@pytest.mark.parametrize("listed", ["5", '"boundary"', '{"a": 1}', "[1]", '[["boundary"]]', '["bundary"]', "[null]"])
def test_a_track_has_baselines_that_there_are(as_organiser: Client, tracks: dict[str, Track], listed: str) -> None:
    """Otherwise no worker makes the first pool, of other competitions neither."""
    track = tracks["untargeted"]
    assert "[tracks.untargeted] baselines:" in sent(as_organiser, track, baselines=listed)
    assert track.baselines == []


def test_a_track_keeps_the_baselines_that_it_has(as_organiser: Client, tracks: dict[str, Track]) -> None:
    track = tracks["untargeted"]
    track.baselines, track.own_baselines = ["of-an-earlier-version"], {"ours": {}}
    track.save()
    assert sent(as_organiser, track, baselines='["boundary", "ours", "of-an-earlier-version"]') == ""
    assert track.baselines == ["boundary", "ours", "of-an-earlier-version"]
    assert sent(as_organiser, track, baselines="") == ""
    assert track.baselines == []
