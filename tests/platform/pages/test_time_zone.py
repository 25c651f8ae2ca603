"""Pages have the time zone of the reader, and nothing else has."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from competitions.models import Competition
from core import time_format
from core.reader_time_zone import ZONE_COOKIE
from submissions.models import Submission
from tests.platform.conftest import NOON

NUMBER_WITH_COMMA = re.compile(
    r'\s(?:d|x|y|[xy][12]|[cr][xy]?|width|height|viewBox|points|value|href|hx-get|min|max)="[^"]*\d,\d'
)


@pytest.mark.django_db
def test_times_are_shown_in_the_zone_that_the_reader_chose_and_else_in_utc(
    client: Client, competition: Competition
) -> None:
    page = reverse("pages:competition", args=[competition.slug])
    first = client.get(page)
    assert " UTC</time>" in first.text
    assert "Cookie" in first.headers["Vary"]
    assert client.post(reverse("pages:time_zone"), {"zone": "Asia/Kolkata", "next": page}).headers["Location"] == page
    shown = client.get(page).text
    assert " IST</time>" in shown
    assert " UTC</time>" not in shown
    assert f'datetime="{time_format.for_programs(competition.starts_at)}"' in shown
    client.cookies.clear()
    assert " UTC</time>" in client.get(page).text


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["", "de", "xx;q=0.9, *"])
def test_every_reader_gets_the_same_english_page(client: Client, header: str) -> None:
    page = client.get(reverse("pages:home"), headers={"accept-language": header})
    assert '<html lang="en">' in page.text
    assert "Accept-Language" not in page.headers["Vary"]


@pytest.mark.django_db
def test_the_admin_the_api_and_git_have_utc(client: Client, root_user: User) -> None:
    client.cookies[ZONE_COOKIE] = "Asia/Kolkata"
    client.force_login(root_user)
    for address in ("/admin/", "/api/competitions/none", "/git/public/none/model.git/info/refs"):
        client.get(address)
        assert timezone.get_current_timezone_name() == "UTC", address
    assert "Vary" not in client.get("/git/public/none/model.git/info/refs").headers


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)", ""])
def test_the_choice_leads_to_no_other_site(client: Client, page: str) -> None:
    assert client.post(reverse("pages:time_zone"), {"next": page}).headers["Location"] == "/"


@pytest.mark.django_db
@pytest.mark.parametrize("zone", ["", "Mars/Base", "../../etc/passwd", "localtime"])
def test_an_unknown_zone_is_not_kept(client: Client, zone: str) -> None:
    client.post(reverse("pages:time_zone"), {"zone": zone})
    assert not client.cookies
    client.cookies[ZONE_COOKIE] = zone
    assert client.get(reverse("pages:time_zone")).status_code == 200


def test_zones_without_a_name_are_written_with_their_offset() -> None:
    with timezone.override("America/Sao_Paulo"):
        assert time_format.on_page(NOON) == "21 Nov 2026, 09:00 UTC-03"


@pytest.mark.django_db
def test_numbers_have_commas_in_texts_only(client: Client, shown: dict[str, Submission], settings: Settings) -> None:
    settings.USE_THOUSAND_SEPARATOR = True
    competition, track = shown["scored"].repository.entry.competition, shown["scored"].repository.track.name
    for name, given in (
        ("pages:board", [competition.slug, track]),
        ("pages:history", [competition.slug, track]),
        ("pages:curves", [competition.slug, track]),
        ("pages:submission", [shown["scored"].pk]),
        ("pages:team", [shown["scored"].repository.entry.team.slug]),
        ("pages:status", []),
    ):
        html = client.get(reverse(name, args=given)).text
        assert not NUMBER_WITH_COMMA.findall(html), name
