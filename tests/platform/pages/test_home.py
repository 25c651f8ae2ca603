"""The home page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.template.loader import get_template
from django.test import Client, override_settings
from django.urls import reverse

from competitions.models import Competition, RulesVersion, SampleSet


def test_the_page_says_what_the_site_is_and_forbids_framing_and_sniffing(client: Client, db: None) -> None:
    response = client.get(reverse("pages:home"))
    page = response.content.decode()
    assert response.status_code == 200
    assert "Robust models and adversarial attacks compete" in page
    assert "gauntlet new untargeted" in page
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_its_example_is_of_a_format_that_is_played(client: Client, sample_set: SampleSet) -> None:
    assert "Copy a bundled attack" in client.get(reverse("pages:home")).content.decode()
    Competition.objects.update(format="curves")
    RulesVersion.objects.update(values={"format": "curves"})
    page = client.get(reverse("pages:home")).content.decode()
    assert "Copy a bundled model" in page
    assert "gauntlet new model my-model" in page


def test_the_files_that_its_head_names_exist(client: Client, db: None) -> None:
    page = client.get(reverse("pages:home")).content.decode()
    named = re.findall(r'(?:href|src)="/static/([^"]+)"', page)
    assert len(named) >= 3
    assert [name for name in named if finders.find(name) is None] == []


def test_it_rejects_a_post(client: Client, db: None) -> None:
    assert client.post(reverse("pages:home")).status_code == 405


def test_it_rejects_a_foreign_host(client: Client, db: None) -> None:
    with override_settings(ALLOWED_HOSTS=["arena.example"]):
        assert client.get("/", headers={"host": "elsewhere.example"}).status_code == 400


def test_every_template_compiles(root: Path) -> None:
    folder = root / "templates"
    names = [str(path.relative_to(folder)) for path in folder.rglob("*.html")]
    assert names
    for name in names:
        get_template(name)


@pytest.mark.parametrize("address", ["/nowhere", "/static/../manage.py"])
def test_it_rejects_an_unknown_address(client: Client, db: None, address: str) -> None:
    assert client.get(address).status_code == 404
