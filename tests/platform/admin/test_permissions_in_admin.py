"""Access: superusers see everything, organisers who are staff their own competitions, others nothing."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from competitions.extension_points import sets_in_use
from competitions.models import Competition, Entry, FreezeWindow, Organiser, SampleSet, Track
from core.models import Event
from formats.curves.models import Benchmark
from formats.query.matches.models import Match
from formats.transfer.tournaments.models import Tournament
from rounds.models import Round

SUPERUSERS_ONLY = {
    "siteidentity",
    "user",
    "group",
    "emailaddress",
    "accesstoken",
    "devicelogin",
    "invitation",
    "worker",
    "host",
    "hostcredential",
    "hostcomparison",
    "signingkey",
    "uploadeddataset",
    "datasetupload",
}


@pytest.fixture
def elsewhere(competition: Competition) -> Competition:
    """Another competition, with a window and a track, that Olga does not organise."""
    other = Competition.objects.create(
        slug="letters",
        title="Letters",
        starts_at=competition.starts_at,
        ends_at=competition.ends_at,
        created_at=competition.created_at,
    )
    Track.objects.create(competition=other, name="model", title="Model")
    FreezeWindow.objects.create(
        competition=other, starts_at=other.starts_at, ends_at=other.starts_at + timedelta(1), reason="theirs"
    )
    return other


def test_an_organiser_sees_the_own_competition_alone(as_organiser: Client, elsewhere: Competition) -> None:
    seen = as_organiser.get(reverse("admin:competitions_competition_changelist")).context["cl"].queryset
    assert [competition.slug for competition in seen] == ["digits"]
    foreign = elsewhere.freeze_windows.get()
    page = reverse("admin:competitions_freezewindow_change", args=[foreign.pk])
    assert as_organiser.get(page).status_code == 302


@pytest.mark.slow(4)
@pytest.mark.parametrize("role", ["organiser", "judge", "helper"])
def test_each_role_sees_no_list_of_superusers_and_no_link_to_a_page_that_it_may_not_open(
    as_organiser: Client, rows: Any, role: str
) -> None:
    """A page names a person, or the worker of a piece, without a link."""
    rows.more()
    Organiser.objects.update(role=role)
    linked: dict[str, str] = {}
    opened: dict[str, int] = {}
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        row = model._default_manager.order_by("pk").last()
        for page in (reverse(f"{name}_changelist"), *([reverse(f"{name}_change", args=[row.pk])] if row else [])):
            shown = as_organiser.get(page)
            opened[page] = shown.status_code
            if role == "organiser" and page.count("/") == 4:  # a list
                closed = model._meta.model_name in SUPERUSERS_ONLY
                assert shown.status_code == (403 if closed else 200), page
                assert closed or shown.context["cl"].result_count >= 1, page
            if shown.status_code == 200:
                links = re.findall(r'href="((/admin/[a-z_]+/[a-z]+/)[0-9]+/change/)', shown.content.decode())
                linked |= {kind: link for link, kind in links}
    assert len(linked) > 10
    opened |= {link: as_organiser.get(link).status_code for link in linked.values() if link not in opened}
    assert {link: opened[link] for link in linked.values() if opened[link] != 200} == {}


@pytest.mark.parametrize("model", [Match, Tournament, Benchmark, Competition, Round])
def test_no_page_shows_what_random_draws_follow_from(as_superuser: Client, rows: Any, model: type[Model]) -> None:
    """Who knows it beforehand knows what an attack will draw."""
    rows.more()
    row = model._default_manager.order_by("pk").last()
    assert row is not None
    names = {field.name for field in model._meta.get_fields()} & {"seed", "seed_salt", "salt", "field_salt"}
    assert names
    page = as_superuser.get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[row.pk]))
    shown = flatten_fieldsets(page.context["adminform"].fieldsets)
    assert shown
    assert names.isdisjoint(shown)


def test_an_edit_records_its_fields(as_organiser: Client, tracks: dict[str, Track]) -> None:
    track = tracks["model"]
    form = {"title": track.title, "text": "Robust.", "quota": 7, "baselines": "[]", "initial-baselines": "[]"}
    assert as_organiser.post(reverse("admin:competitions_track_change", args=[track.pk]), form).status_code == 302
    track.refresh_from_db()
    assert track.quota == 7
    assert Event.objects.get().data == {"fields": ["text", "quota"]}


def test_only_the_prize_flag_of_an_entry_changes(as_organiser: Client, entry: Entry) -> None:
    form = {"ineligible_for_prizes": "on", "team": 99}
    assert as_organiser.post(reverse("admin:competitions_entry_change", args=[entry.pk]), form).status_code == 302
    entry.refresh_from_db()
    assert entry.ineligible_for_prizes
    assert entry.team.slug == "owls"


def test_name_and_purpose_of_a_sample_set_change_until_it_is_used(
    as_organiser: Client, olga: User, sample_sets: dict[str, SampleSet], rows: Any
) -> None:
    unused = SampleSet.objects.get(name="development")
    page = reverse("admin:competitions_sampleset_change", args=[unused.pk])
    assert as_organiser.post(page, {"name": "public", "purpose": "development", "count": 3}).status_code == 302
    unused.refresh_from_db()
    assert (unused.name, unused.count) == ("public", 10)
    event = Event.objects.get(verb="sampleset.changed")
    assert (event.subject, event.by, event.data) == (f"sampleset:{unused.pk}", olga, {"fields": ["name"]})
    rows.more()
    used = SampleSet.objects.get(name="validation")
    page = reverse("admin:competitions_sampleset_change", args=[used.pk])
    assert as_organiser.post(page, {"name": "other", "purpose": "final"}).status_code == 403


def test_the_page_of_a_sample_set_looks_once_for_a_match_that_uses_it(as_organiser: Client, rows: Any) -> None:
    """Tens of thousands of matches of a season use the same set."""
    rows.more()
    used = SampleSet.objects.get(name="validation")
    with CaptureQueriesContext(connection) as asked:
        as_organiser.get(reverse("admin:competitions_sampleset_change", args=[used.pk]))
    looking = [each["sql"] for each in asked if 'INNER JOIN "matches_match"' in each["sql"]]
    assert len(looking) == 1
    assert looking[0].count(" LIMIT 1)") == len(list(sets_in_use.answers()))


@pytest.mark.parametrize(
    ("of", "field", "value", "named"),
    [
        ("development", "name", "validation", "has this name"),
        ("validation", "purpose", "final", "the only validation set"),
        ("development", "purpose", "test", "images of this set are public"),
    ],
)
def test_it_rejects_an_invalid_sample_set(
    as_organiser: Client, sample_sets: dict[str, SampleSet], of: str, field: str, value: str, named: str
) -> None:
    second = SampleSet.objects.get(name="development")
    second.pk, second.name = None, "development-2"
    second.save()
    page = reverse("admin:competitions_sampleset_change", args=[sample_sets[of].pk])
    form = {"name": of, "purpose": of, field: value}
    assert named in str(as_organiser.post(page, form).context["adminform"].form.errors[field])


@pytest.mark.parametrize("name", ["charlie", "bob", "olga"])
def test_it_rejects_people_who_are_not_staff(
    client: Client, owls: object, charlie: object, olga: object, name: str
) -> None:
    client.force_login(User.objects.get(username=name))
    for page in ("admin:index", "admin:competitions_competition_changelist", "admin:accounts_user_changelist"):
        assert client.get(reverse(page), follow=True).status_code == 403


def test_it_redirects_to_the_login_page_that_limits_attempts(client: Client, superuser: User) -> None:
    page = client.get(reverse("admin:index"), follow=True)
    assert page.redirect_chain[-1] == ("/accounts/login/?next=%2Fadmin%2F", 302)
    entered = client.post(
        "/accounts/login/", {"login": "root", "password": "a long enough password", "next": "/admin/"}, follow=True
    )
    assert entered.redirect_chain[-1][0] == "/admin/"
    assert entered.status_code == 200


def test_the_admin_has_no_password_form(client: Client, as_superuser: Client) -> None:
    form = {"username": "root", "password": "a long enough password"}
    assert as_superuser.post("/admin/login/", form).status_code == 405


def test_an_address_of_no_row_is_said_to_be_none(as_organiser: Client) -> None:
    page = as_organiser.get("/admin/submissions/submission/12/retri", follow=True)  # a mistake for "retry"
    assert "Perhaps it was deleted?" in page.text
    assert as_organiser.get(reverse("admin:submissions_submission_retry", args=["12a"])).status_code == 403


@pytest.mark.parametrize(
    ("model", "key"), [("competitions_datasetupload", "12a"), ("leaderboards_resamples", "9" * 20)]
)
def test_a_key_that_no_row_can_have_is_said_to_be_none(as_superuser: Client, model: str, key: str) -> None:
    page = as_superuser.get(reverse(f"admin:{model}_change", args=[key]), follow=True)
    assert "Perhaps it was deleted?" in page.text


def test_it_rejects_staff_who_organise_nothing(client: Client, charlie: User, competition: Competition) -> None:
    charlie.is_staff = True
    charlie.save()
    charlie.user_permissions.set(Permission.objects.all())
    client.force_login(charlie)
    for model in admin.site._registry:
        page = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        assert client.get(page).status_code == 403
