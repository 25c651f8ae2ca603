"""The pages of the admin are small: the site's font, the icons that they show, and none of the theme's charts."""

from __future__ import annotations

import re
from pathlib import Path

import unfold
from django.test import Client
from django.urls import reverse

MOST_BYTES = 100_000
"""Of the first page before it is compressed, which makes it a tenth."""

THEME = Path(unfold.__file__).parent
SKELETON = "templates/unfold/layouts/skeleton.html"


def blocks(page: Path) -> list[str]:
    return re.findall(r"{% block \w+|{% include [^%]*", page.read_text())


def test_the_first_page_is_small(as_superuser: Client) -> None:
    page = as_superuser.get(reverse("admin:index")).content
    assert len(page) < MOST_BYTES
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.decode())
    assert len(set(files)) <= 12, "two fonts and the page come on top: at most 15 requests"


def test_the_changed_skeleton_has_the_parts_of_the_themes(root: Path) -> None:
    assert blocks(root / SKELETON) == blocks(THEME / SKELETON)


def test_every_icon_is_in_the_font(root: Path, as_superuser: Client) -> None:
    known = set((root / "static/fonts/material-symbols.txt").read_text().split())
    groups = as_superuser.get(reverse("admin:index")).context["sidebar_navigation"]
    shown = {str(item["icon"]) for group in groups for item in group["items"]}
    for page in (THEME / "templates").rglob("*.html"):
        shown |= set(re.findall(r"material-symbols-outlined[^>]*>\s*([a-z_]+)\s*<", page.read_text()))
    assert shown - known == set()
