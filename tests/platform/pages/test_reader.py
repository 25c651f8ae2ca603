"""Pages are in the language and the time zone of the reader, and nothing else is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from allauth.account.adapter import get_adapter
from allauth.core.context import request_context
from django.core import mail
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone, translation
from pytest_django import Settings

from accounts.models import User
from competitions.models import Competition
from core import time_format
from core.reader_locale import ZONE_COOKIE
from submissions.models import Submission
from tests.platform.conftest import NOON, FakeClock

GERMAN = {"accept-language": "de-AT,de;q=0.9,en;q=0.5"}
NUMBER_WITH_COMMA = re.compile(
    r'\s(?:d|x|y|[xy][12]|[cr][xy]?|width|height|viewBox|points|value|href|hx-get|min|max)="[^"]*\d,\d'
)


@pytest.mark.django_db
def test_it_works(client: Client) -> None:
    page = client.get(reverse("pages:home"), headers=GERMAN)
    assert '<html lang="de">' in page.text
    assert "Ranglisten" in page.text
    assert page.headers["Content-Language"] == "de"
    assert {"Accept-Language", "Cookie"} <= {name.strip() for name in page.headers["Vary"].split(",")}


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["", "fr", "en-GB", "xx;q=0.9, *"])
def test_a_reader_of_another_language_gets_english(client: Client, header: str) -> None:
    page = client.get(reverse("pages:home"), headers={"accept-language": header})
    assert '<html lang="en">' in page.text
    assert "Leaderboards" in page.text


@pytest.mark.django_db
def test_the_switch_keeps_the_page_and_wins_over_the_browser(client: Client) -> None:
    page = "/teams?q=owl"
    switched = client.post(
        reverse("pages:language"), {"language": "de", "next": page}, headers={"accept-language": "en"}
    )
    assert (switched.status_code, switched.headers["Location"]) == (302, page)
    assert '<html lang="de">' in client.get(page, headers={"accept-language": "en"}).text


@pytest.mark.django_db
@pytest.mark.parametrize("given", [{"language": "fr"}, {"language": "de/../.."}, {}])
def test_an_unknown_language_is_not_kept(client: Client, given: dict[str, str]) -> None:
    assert client.post(reverse("pages:language"), given).status_code == 302
    assert not client.cookies


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)", ""])
@pytest.mark.parametrize("name", ["pages:language", "pages:time_zone"])
def test_the_switches_lead_to_no_other_site(client: Client, page: str, name: str) -> None:
    assert client.post(reverse(name), {"next": page}).headers["Location"] == "/"


@pytest.mark.django_db
def test_the_switch_works_without_a_cookie_of_the_form() -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.post(reverse("pages:language"), {"language": "de"}).status_code == 302
    assert client.get("/").cookies == {}


@pytest.mark.django_db
def test_the_admin_the_api_and_git_are_in_english(client: Client, root_user: User, competition: Competition) -> None:
    client.cookies["django_language"] = "de"
    client.force_login(root_user)
    assert "Site administration" in client.get("/admin/", headers=GERMAN).text
    assert "there is no such competition" in client.get("/api/competitions/none", headers=GERMAN).text
    assert translation.get_language() == "en"
    assert "Vary" not in client.get("/git/public/none/model.git/info/refs", headers=GERMAN).headers


@pytest.mark.django_db
def test_times_are_in_the_zone_that_the_reader_chose(client: Client, competition: Competition) -> None:
    page = reverse("pages:competition", args=[competition.slug])
    assert " UTC</time>" in client.get(page).text
    client.post(reverse("pages:time_zone"), {"zone": "Asia/Kolkata", "next": page})
    shown = client.get(page).text
    assert " IST</time>" in shown
    assert " UTC</time>" not in shown
    assert f'datetime="{time_format.for_programs(competition.starts_at)}"' in shown
    client.cookies.clear()
    assert " UTC</time>" in client.get(page).text


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


def test_german_times() -> None:
    with translation.override("de"), timezone.override("Europe/Berlin"):
        assert time_format.on_page(NOON) == "21. Nov. 2026, 13:00 CET"
        assert time_format.until(3 * 24 * 3600 + 3600) == "in 3 Tg. 1 Std."
        assert time_format.duration(4.31) == "4,3 s"
        assert time_format.in_words(NOON) == "2026-11-21 12:00 UTC"


@pytest.mark.django_db
def test_a_poll_gets_the_page_again_after_a_change_of_language(client: Client, shown: dict[str, Submission]) -> None:
    entry = shown["scored"].repository.entry
    page = reverse("pages:board", args=[entry.competition.slug, shown["scored"].repository.track.name])
    html = client.get(page).text
    frame = re.search(r'hx-get="([^"]+)"', html)
    assert frame is not None
    address = frame[1].replace("&amp;", "&")
    htmx = {"HX-Request": "true"}
    assert client.get(address, headers=htmx).status_code == 204
    german = client.get(address, headers=htmx | GERMAN)
    assert german.status_code == 200
    assert "Gewertet" in german.text


@pytest.mark.django_db
def test_numbers_are_localised_in_texts_only(client: Client, shown: dict[str, Submission], settings: Settings) -> None:
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
        html = client.get(reverse(name, args=given), headers=GERMAN).text
        assert not NUMBER_WITH_COMMA.findall(html), name
    board = client.get(reverse("pages:board", args=[competition.slug, track]), headers=GERMAN).text
    assert "1,1 bis 1,5" in board or "1,12 bis 1,50" in board or "1,125 bis 1,500" in board


@pytest.mark.django_db
def test_files_and_json_are_the_same_in_every_language(
    client: Client, shown: dict[str, Submission], the_clock: FakeClock
) -> None:
    the_clock.forward(days=30)
    competition, track = shown["scored"].repository.entry.competition, shown["scored"].repository.track.name
    for name in ("pages:board_csv", "api:leaderboard", "pages:share_board", "pages:history_table"):
        address = reverse(name, args=[competition.slug, track, *(["best"] if name == "pages:history_table" else [])])
        english, german = client.get(address), client.get(address, headers=GERMAN)
        assert english.content == german.content, name


@pytest.mark.django_db
def test_error_pages_are_in_the_language_of_the_reader(
    client: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Seite nicht gefunden" in client.get("/none", headers=GERMAN).text
    assert "Ungültige Anfrage" in client.get("/", headers=GERMAN | {"host": "elsewhere.example"}).text
    checked = Client(enforce_csrf_checks=True)
    checked.force_login(alice)
    assert "Das Formular ist abgelaufen" in checked.post(reverse("pages:account"), headers=GERMAN).text

    def broken(*args: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("pages.site.home_views.competition_lists", broken)
    client.raise_request_exception = False
    failed = client.get("/", headers=GERMAN)
    assert (failed.status_code, '<html lang="de">' in failed.text) == (500, True)
    assert "Plattformfehler" in failed.text


@pytest.mark.django_db
def test_forms_and_their_errors_are_in_the_language_of_the_reader(client: Client, alice: User) -> None:
    client.force_login(alice)
    page = client.post(reverse("pages:account"), {"name": "", "days": "1000"}, headers=GERMAN).text
    for text in ("Dieses Feld ist zwingend erforderlich.", "Rechte", "read: Repositorys klonen, API lesen"):
        assert text in page


@pytest.mark.django_db
def test_an_email_is_in_the_language_of_the_person_who_asked_for_it(rf: RequestFactory, alice: User) -> None:
    asked = rf.post("/accounts/password/reset/")
    given = {"request": asked, "user": alice, "username": alice.username, "password_reset_url": "https://arena.example"}
    with request_context(asked), translation.override("de"):
        get_adapter().send_mail("account/email/password_reset_key", "alice@arena.example", given)
    (sent,) = mail.outbox
    assert "Passwort" in sent.subject
    assert "Wenn du es nicht warst, ignoriere diese E-Mail." in str(sent.body)


def test_the_script_of_the_pages_gets_its_texts(root: Path) -> None:
    """The script reads `texts.NAME`; each name is in the texts that a page carries."""
    with translation.override("de"):
        texts = time_format.for_script()
    used = set(re.findall(r"\btexts\.(\w+)", (root / "static/js/site.js").read_text(encoding="utf-8")))
    assert used - {"copied"} == set(texts)
    assert texts["hoursAgo"] == "vor %(hours)s Std."
    assert json.dumps(texts)
