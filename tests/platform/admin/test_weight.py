"""The pages of the admin are small: the site's font, the icons that they show, and none of the theme's charts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import unfold
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from unfold.sites import UnfoldAdminSite

pytestmark = pytest.mark.usefixtures("sidebar")

MOST_BYTES = 100_000
"""Of the first page before it is compressed."""

THEME = Path(unfold.__file__).parent
STYLES = "static/unfold/css/styles.css"
SKELETON = "templates/unfold/layouts/skeleton.html"


def blocks(page: Path) -> list[str]:
    return re.findall(r"{% block \w+|{% include [^%]*", page.read_text())


def test_the_first_page_is_small(as_superuser: Client) -> None:
    page = as_superuser.get(reverse("admin:index")).content
    assert len(page) < MOST_BYTES
    packed = as_superuser.get(reverse("admin:index"), headers={"Accept-Encoding": "gzip"})
    assert (packed["Content-Encoding"], len(packed.content) < MOST_BYTES / 5) == ("gzip", True)
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.decode())
    assert len(set(files)) <= 12, "two fonts and the page come on top: at most 15 requests"


def test_all_models_are_listed_only_where_a_page_shows_them(
    as_superuser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def listed(site: object, request: object, app_label: str | None = None) -> list[object]:
        asked.append(app_label)
        return []

    monkeypatch.setattr(UnfoldAdminSite, "get_app_list", listed)
    assert as_superuser.get(reverse("admin:accounts_user_changelist")).status_code == 200
    assert asked == []
    assert as_superuser.get(reverse("admin:app_list", args=["accounts"])).status_code == 404
    assert asked == ["accounts"]


@pytest.mark.parametrize("name", ["accounts_signuplink", "workers_hostcredential"])
def test_a_page_that_shows_a_key_each_time_is_not_compressed(as_superuser: Client, rows: Any, name: str) -> None:
    """Its length would tell the key to who can make somebody open it many times (BREACH)."""
    rows.more()
    model = next(each for each in admin.site._registry if each._meta.label_lower.replace(".", "_") == name)
    row = model._default_manager.first()
    assert row is not None
    page = as_superuser.get(reverse(f"admin:{name}_change", args=[row.pk]), headers={"Accept-Encoding": "gzip"})
    assert page.status_code == 200
    assert "Content-Encoding" not in page


@pytest.mark.parametrize("name", ["core_event_changelist", "rounds_round_changelist"])
def test_the_largest_pages_are_compressed(as_superuser: Client, rows: Any, name: str) -> None:
    rows.more()
    assert as_superuser.get(reverse(f"admin:{name}"), headers={"Accept-Encoding": "gzip"})["Content-Encoding"] == "gzip"


def test_the_changed_skeleton_has_the_parts_of_the_themes(root: Path) -> None:
    assert blocks(root / SKELETON) == blocks(THEME / SKELETON)


def test_every_icon_is_in_the_font(root: Path, as_superuser: Client) -> None:
    known = set((root / "static/fonts/material-symbols.txt").read_text().split())
    groups = as_superuser.get(reverse("admin:index")).context["sidebar_navigation"]
    shown = {str(item["icon"]) for group in groups for item in group["items"]}
    for page in (THEME / "templates").rglob("*.html"):
        shown |= set(re.findall(r"material-symbols-outlined[^>]*>\s*([a-z_]+)\s*<", page.read_text()))
    shown |= set(re.findall(r'[.][a-z-]+:after\{content:"([a-z_]+)"', (THEME / STYLES).read_text()))
    assert "calendar_today" in shown
    assert shown - known == set()
