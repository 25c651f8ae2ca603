"""Every model has admin pages, small ones, whose number of queries does not grow with the rows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from core.models import TableChange

APPS = (
    *("core", "accounts", "competitions", "repositories", "submissions", "tournaments", "matches", "leaderboards"),
    *("challenges", "rounds"),
)
WITHOUT_PAGES = {TableChange}
"""A table of triggers, in which nobody looks up anything."""
MODELS = [model for app in APPS for model in apps.get_app_config(app).get_models() if model not in WITHOUT_PAGES]
EDITABLE = {"user", "competition", "track", "sampleset", "organiser", "entry", "page", "announcement"}
ADDABLE = {
    *("user", "competition", "signuplink", "freezewindow", "organiser", "round"),
    *("page", "announcement", "termsversion", "uploadeddataset"),
}
DELETABLE = {"user", "organiser", "page", "announcement"}


def address(model: type[Model], view: str, *arguments: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}", args=arguments)


def visit(client: Client, page: str) -> tuple[Any, int]:
    """Return a page, which opens, and how many queries it takes."""
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(page)
    assert answer.status_code == 200, page
    return answer, len(captured)


def requests_of(page: Any) -> int:
    """Return how many requests a fresh browser makes: the page, its files and what they load: two fonts."""
    files = set(re.findall(r'(?:href|src)="(/static/[^"]+|/admin/jsi18n/)"', page.content.decode()))
    return 1 + len(files) + 2


@pytest.mark.slow(5)
def test_every_page_opens_with_few_requests_and_queries_and_no_more_of_them_for_more_rows(
    as_superuser: Client, rows: Any, olga: object
) -> None:
    """Lists, and rows that nobody changes, load no scripts of forms."""
    rows.more()
    Group.objects.create(name="judges")
    as_superuser.get(reverse("admin:index"))
    lists = {}
    for model in admin.site._registry:
        shown, lists[model] = visit(as_superuser, address(model, "changelist"))
        assert requests_of(shown) <= 16, model
        if (row := model._default_manager.first()) is not None:
            shown, count = visit(as_superuser, address(model, "change", row.pk))
            editable = shown.context["has_change_permission"]
            assert editable == (model._meta.model_name in EDITABLE) or model not in MODELS, model
            assert requests_of(shown) <= (26 if editable else 16), model
            assert count <= 25, model
        assert row is not None or model not in MODELS, f"no row of {model} to look at"
    rows.more()
    rows.more()
    again = {model: visit(as_superuser, address(model, "changelist"))[1] for model in admin.site._registry}
    assert {model.__name__: count for model, count in again.items() if count > lists[model]} == {}
    assert max(again.values()) <= 15


def test_every_model_is_registered() -> None:
    assert [model for model in MODELS if not admin.site.is_registered(model)] == []


@pytest.mark.usefixtures("sidebar")
def test_every_page_is_in_the_sidebar_once(as_superuser: Client) -> None:
    groups = as_superuser.get(reverse("admin:index")).context["sidebar_navigation"]
    links = [str(item["link"]) for group in groups for item in group["items"]]
    assert sorted(links) == sorted(address(model, "changelist") for model in admin.site._registry)


@pytest.mark.usefixtures("sidebar")
def test_formats_add_pages_to_the_groups_and_new_groups_above_those_of_workers(as_superuser: Client) -> None:
    groups = as_superuser.get(reverse("admin:index")).context["sidebar_navigation"]
    titles = {group["title"]: [item["title"] for item in group["items"]] for group in groups}
    assert list(titles) == [
        *("Competition", "Teams", "Submissions", "Matches", "Leaderboards", "Tournaments", "Benchmarks", "Workers"),
        *("Rounds", "Log"),
    ]
    assert titles["Rounds"][:2] == ["Rounds", "Round entries"]
    assert titles["Rounds"][-1] == "Warnings"


def test_it_rejects_edits_of_read_only_rows(as_superuser: Client, rows: Any, olga: object) -> None:
    rows.more()
    for model in MODELS:
        row, name = model._default_manager.first(), model._meta.model_name
        assert row is not None, model
        statuses = [as_superuser.get(address(model, *view)).status_code for view in (("add",), ("delete", row.pk))]
        assert [status == 200 for status in statuses] == [name in ADDABLE, name in DELETABLE], model
        refused = as_superuser.post(address(model, "change", row.pk)).status_code == 403
        assert refused == (name not in EDITABLE), model


def test_pages_show_no_secrets(as_superuser: Client, rows: Any) -> None:
    rows.more()
    token, result = (apps.get_model(name).objects.get() for name in ("accounts.AccessToken", "matches.SampleResult"))
    page = as_superuser.get(address(type(token), "change", token.pk)).content.decode()
    assert token.start in page
    assert token.digest not in page
    assert "found label" not in as_superuser.get(address(type(result), "change", result.pk)).content.decode().lower()


def test_only_the_admin_has_the_relaxed_policy(as_superuser: Client) -> None:
    inside = as_superuser.get(reverse("admin:index")).headers["Content-Security-Policy"]
    outside = as_superuser.get(reverse("pages:home")).headers["Content-Security-Policy"]
    assert "'unsafe-eval'" in inside
    assert "unsafe" not in outside
