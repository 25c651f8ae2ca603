"""Recorded texts are English, and shown in the language of the reader."""

from __future__ import annotations

import pytest
from allauth.core.context import request_context
from django.core import mail
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import translation
from pytest_django import Settings

from accounts.allauth_adapter import AccountAdapter
from accounts.models import AccountRequest, User
from competitions.models import Entry
from core.errors import Refusal
from evaluation.domain.translatable_text import Text, listed
from pages.flash_messages import refusal_text
from pages.language import tick, translated
from tests.platform.conftest import NOON


def test_it_works() -> None:
    text = listed([Text("pool %(number)s of %(title)s", number=1200, title="Model"), Text("new samples")])
    assert translated(text) == "pool 1,200 of Model, new samples"
    with translation.override("de"):
        assert translated(text) == "Pool 1.200 von Model, neue Samples"
        assert str(text) == "pool 1,200 of Model, new samples"


def test_names_that_people_gave_are_not_translated() -> None:
    with translation.override("de"):
        assert translated("Team") == "Team"
        assert translated("score") == "score"


def test_labels_of_axes() -> None:
    with translation.override("de"):
        assert [tick(text) for text in ("0.5", "1,000", "25 %", "22. Nov", "12:00")] == [
            *("0,5", "1.000", "25 %", "22. Nov", "12:00")
        ]


def test_a_refusal_is_recorded_in_english_and_shown_in_german() -> None:
    refusal = Refusal(Text("%(slug)s is reserved", slug="'new'"), fix=Text("choose another short name"))
    with translation.override("de"):
        assert refusal_text(refusal) == "'new' ist reserviert. Wähle einen anderen Kurznamen."
        assert str(refusal) == "'new' is reserved\n  fix: choose another short name"


@pytest.mark.django_db
def test_a_refused_action_of_a_page(client: Client, bob: User, entry: Entry) -> None:
    client.force_login(bob)
    german = {"accept-language": "de"}
    address = reverse("pages:invite", args=[entry.team.slug])
    page = client.post(address, {"username": "alice"}, headers=german, follow=True)
    assert f"Nur der Kapitän von {entry.team} kann Mitglieder einladen" in page.text


@pytest.mark.django_db
def test_an_approval_is_written_in_the_language_that_the_person_chose(
    client: Client, bob: User, rf: RequestFactory, settings: Settings
) -> None:
    client.force_login(bob)
    client.post(reverse("pages:language"), {"language": "de"})
    bob.refresh_from_db()
    bob.email = "bob@arena.example"
    with request_context(rf.get("/")):
        AccountAdapter().send_approval(AccountRequest(user=bob, made_at=NOON))
    (sent,) = mail.outbox
    assert "Dein Konto ist bestätigt" in sent.subject
    assert "Dein Konto bob ist bestätigt. Melde dich an unter http://testserver/accounts/login/" in str(sent.body)
