"""German pages have no English text of the site, except what was recorded in English and says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from accounts.models import User
from core.translations import catalogue
from formats.query.matches.models import Match
from rounds.models import Round
from submissions.models import Submission
from tests.platform.pages.test_literals import Texts

ENGLISH = re.compile(r"\b(the|of|is|are|were|and|not|with|which|this|that|from|your|you|no|by)\b", re.IGNORECASE)
DATA = re.compile(r"\b(?:The Owls|The first one\.|Model)(?!\w)")
"""Texts that people wrote."""
VOID = {"br", "circle", "hr", "img", "input", "line", "link", "meta", "path", "rect"}


class GermanTexts(Texts):
    """The texts of a page, without those that are marked as English."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[bool] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(dict(attrs).get("lang") == "en")
        if not any(self.open):
            super().handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not any(self.open):
            super().handle_endtag(tag)
        if tag not in VOID and self.open:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if not any(self.open):
            super().handle_data(data)


@pytest.fixture(scope="module")
def english() -> set[str]:
    """Every text of the catalogue whose translation differs."""
    file = Path(settings.LOCALE_PATHS[0]) / "de" / "LC_MESSAGES" / "django.po"
    return {entry.msgid for entry in catalogue(file) if entry.msgstr and entry.msgstr.lower() != entry.msgid.lower()}


@pytest.fixture
def texts(client: Client) -> Callable[[str], set[str]]:
    """Return the texts of a German page."""

    def read(address: str) -> set[str]:
        page = client.get(address, headers={"accept-language": "de"})
        assert page.status_code == 200, address
        parser = GermanTexts()
        parser.feed(page.text)
        parser.close()
        return {" ".join(DATA.sub("", text).split()) for text in parser.found}

    return read


def check(found: set[str], english: set[str]) -> None:
    assert found & english == set()
    assert [text for text in found if ENGLISH.search(text)] == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    "name", ["home", "competitions", "leaderboards", "teams", "docs", "status", "search", "time_zone"]
)
def test_it_works(name: str, texts: Callable[[str], set[str]], english: set[str], shown: object) -> None:
    check(texts(reverse(f"pages:{name}")), english)


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/accounts/login/", "/accounts/signup/", "/accounts/password/reset/"])
def test_pages_of_accounts(address: str, texts: Callable[[str], set[str]], english: set[str]) -> None:
    check(texts(address), english)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["account", "account_change_password", "account_email"])
def test_pages_of_a_person(
    name: str, client: Client, bob: User, texts: Callable[[str], set[str]], english: set[str]
) -> None:
    client.force_login(bob)
    check(texts(reverse("pages:account" if name == "account" else name)), english)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["board", "curves", "history", "matrix"])
def test_pages_of_a_track(
    name: str, texts: Callable[[str], set[str]], english: set[str], shown: dict[str, Submission]
) -> None:
    competition = shown["scored"].repository.entry.competition
    check(
        texts(reverse(f"pages:{name}", args=[competition.slug, "untargeted" if name == "matrix" else "model"])), english
    )


@pytest.mark.django_db
def test_pages_of_a_competition(
    texts: Callable[[str], set[str]], english: set[str], shown: dict[str, Submission], planned: Round
) -> None:
    competition = shown["scored"].repository.entry.competition
    for name, given in (("competition", []), ("rules", []), ("round", [planned.number])):
        check(texts(reverse(f"pages:{name}", args=[competition.slug, *given])), english)


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["scored", "rejected", "building"])
def test_pages_of_a_team_and_its_submissions(
    state: str,
    client: Client,
    bob: User,
    texts: Callable[[str], set[str]],
    english: set[str],
    shown: dict[str, Submission],
) -> None:
    client.force_login(bob)
    check(texts(reverse("pages:submission", args=[shown[state].pk])), english)
    check(texts(reverse("pages:team", args=[shown[state].repository.entry.team.slug])), english)


@pytest.mark.django_db
def test_the_page_of_a_match(
    client: Client, olga: User, texts: Callable[[str], set[str]], english: set[str], played_match: Match
) -> None:
    client.force_login(olga)
    check(texts(reverse("pages:match", args=[played_match.pk])), english)
