"""Objections in the admin: organisers uphold or reject one, once, with a public reason."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.models import Organiser
from core.models import Event
from rounds.models import Objection


@pytest.fixture
def made(rows: Any) -> Objection:
    """An open objection."""
    rows.more()
    return Objection.objects.get()


def page(action: str, row: Objection) -> str:
    """Return the address of an action on the objection."""
    return reverse(f"admin:rounds_objection_{action}", args=[row.pk])


@pytest.mark.parametrize(("action", "state"), [("uphold", "upheld"), ("reject", "rejected")])
def test_an_objection_is_answered_once_with_a_public_reason(
    as_organiser: Client, made: Objection, olga: User, action: str, state: str
) -> None:
    change = reverse("admin:rounds_objection_change", args=[made.pk])
    assert page(action, made) in as_organiser.get(change).content.decode()
    asked = as_organiser.get(page(action, made)).content.decode()
    assert "To the whole result:" in asked
    assert "A text." in asked
    assert "public and permanent" in asked
    as_organiser.post(page(action, made), {"confirmed": "yes", "reason": "We looked."})
    made.refresh_from_db()
    assert (made.state, made.answer, made.closed_by) == (state, "We looked.", olga)
    event = Event.objects.latest("pk")
    assert (event.verb, event.subject, event.reason) == (action, f"objection:{made.pk}", "We looked.")
    assert page(action, made) not in as_organiser.get(change).content.decode()

    again = as_organiser.post(page("uphold", made), {"confirmed": "yes", "reason": "Once more."})
    assert f"objection {made.pk} is already {state}" in str(list(get_messages(again.wsgi_request))[-1])
    made.refresh_from_db()
    assert made.answer == "We looked."


def test_it_asks_for_a_reason(as_organiser: Client, made: Objection) -> None:
    answered = as_organiser.post(page("reject", made), {"confirmed": "yes", "reason": " "})
    assert answered.status_code == 200
    made.refresh_from_db()
    assert made.state == "open"


def test_organisers_of_other_competitions_find_none(as_organiser: Client, made: Objection, alice: User) -> None:
    Organiser.objects.all().update(user=alice)
    assert as_organiser.post(page("uphold", made), {"confirmed": "yes", "reason": "Ours."}).status_code in (403, 404)
    made.refresh_from_db()
    assert made.state == "open"


def test_the_round_counts_its_objections_and_links_the_open_ones(as_organiser: Client, made: Objection) -> None:
    made.round.objection_days = 90
    made.round.save()
    shown = as_organiser.get(reverse("admin:rounds_round_change", args=[made.round_id])).content.decode()
    assert reverse("admin:rounds_objection_change", args=[made.pk]) in shown
    assert "The result is provisional" in shown
