"""Accepting the terms of a competition on its pages."""

from __future__ import annotations

from django.test import Client

from accounts.models import User
from competitions.models import Competition, Entry
from competitions.terms import publish_terms

TERMS = "/competitions/digits/terms"


def test_a_captain_reads_and_accepts_the_terms_and_is_not_asked_again(
    client: Client, entry: Entry, alice: User, olga: User
) -> None:
    terms = publish_terms(competition=entry.competition, text="Be **fair**.", by=olga)
    client.force_login(alice)
    assert f'<a href="{TERMS}">' in client.get("/teams/owls").content.decode()
    page = client.get(TERMS).content.decode()
    assert "<strong>fair</strong>" in page
    assert f'name="terms" value="{terms.digest}"' in page
    answer = client.post(f"{TERMS}/accept", {"terms": terms.digest}, follow=True).content.decode()
    assert "Terms accepted for The Owls." in answer
    assert "The Owls has accepted these terms" in answer
    assert "By alice" in answer
    assert "Accept for" not in answer
    assert "is not accepted" not in client.get("/teams/owls").content.decode()


def test_it_rejects_a_member_and_terms_that_changed(
    client: Client, entry: Entry, alice: User, bob: User, olga: User
) -> None:
    first = publish_terms(competition=entry.competition, text="Be fair.", by=olga)
    client.force_login(bob)
    answer = client.post(f"{TERMS}/accept", {"terms": first.digest}, follow=True)
    assert "Only the captain of The Owls can accept the terms" in answer.content.decode()
    publish_terms(competition=entry.competition, text="Be kind.", by=olga)
    client.force_login(alice)
    answer = client.post(f"{TERMS}/accept", {"terms": first.digest}, follow=True)
    assert "Version 2 of the terms is in force" in answer.content.decode()
    assert "Be fair." in answer.content.decode()  # an earlier version
    assert not entry.terms_acceptances.exists()


def test_a_new_team_accepts_them(client: Client, competition: Competition, charlie: User, olga: User) -> None:
    terms = publish_terms(competition=competition, text="Be fair.", by=olga)
    client.force_login(charlie)
    address, values = "/competitions/digits/teams/new", {"name": "Newts", "slug": "newts"}
    assert f'value="{terms.digest}" required' in client.get(address).content.decode()
    assert "was not accepted" in client.post(address, values).content.decode()
    assert not Entry.objects.exists()
    assert client.post(address, values | {"terms": terms.digest}).headers["Location"] == "/teams/newts"
    assert Entry.objects.get().terms_acceptances.get().user == charlie
