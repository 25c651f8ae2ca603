"""Webhooks of organisers in the admin."""

from __future__ import annotations

from django.test import Client

from accounts.models import User
from competitions.models import Competition, Entry
from webhooks.models import Delivery, Webhook
from webhooks.services import add_team_webhook
from webhooks.signatures import secret_of

LIST = "/admin/webhooks/webhook/"


def test_organisers_add_test_and_remove_one_and_see_none_of_teams(
    as_organiser: Client, competition: Competition, entry: Entry, alice: User
) -> None:
    add_team_webhook(entry=entry, address="https://team.example/", events=["round.published"], by=alice)
    values = {"competition": competition.pk, "address": "https://bot.example/", "events": ["round.published"]}
    page = as_organiser.post(f"{LIST}add/", values, follow=True).content.decode()
    made = Webhook.objects.get(team=None)
    assert (made.address, made.events, secret_of(made.nonce) in page) == (values["address"], values["events"], True)
    page = as_organiser.get(LIST).content.decode()
    assert secret_of(made.nonce) not in page
    assert ("https://bot.example/" in page, "https://team.example/" in page) == (True, False)
    action = {"action": "send_test", "_selected_action": [made.pk], "confirmed": "yes", "reason": "Is it there?"}
    as_organiser.post(LIST, action)
    assert Delivery.objects.get().webhook == made
    as_organiser.post(f"{LIST}{made.pk}/delete/", {"post": "yes"})
    assert not Webhook.objects.filter(team=None).exists()


def test_it_rejects_an_address_that_is_not_public(as_organiser: Client, competition: Competition) -> None:
    values = {"competition": competition.pk, "address": "https://10.0.0.1/", "events": ["round.published"]}
    page = as_organiser.post(f"{LIST}add/", values, follow=True).content.decode()
    assert "10.0.0.1 is not public" in page
    assert not Webhook.objects.exists()
