"""The pages of a team's webhooks."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import User
from competitions.models import Entry
from tests.platform.conftest import FakeClock
from webhooks.models import Delivery, Webhook
from webhooks.services import add_team_webhook, ask_for_test
from webhooks.signatures import secret_of

PAGE = "/teams/owls/webhooks"
FILLED = {"address": "https://bot.example/<b>", "events": ["round.published", "submission.scored"]}


@pytest.fixture
def captain(client: Client, entry: Entry, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def delivery(entry: Entry, alice: User) -> Delivery:
    """A test that waits."""
    webhook, _ = add_team_webhook(entry=entry, by=alice, **FILLED)  # type: ignore[arg-type]
    return ask_for_test(webhook=webhook, by=alice)


def test_the_secret_of_a_new_webhook_is_shown_once(captain: Client) -> None:
    assert f'href="{PAGE}"' in captain.get("/teams/owls").content.decode()
    answer = captain.post(PAGE, FILLED)
    secret = secret_of(Webhook.objects.get().nonce)
    assert secret in answer.content.decode()
    assert answer.headers["Cache-Control"].startswith("max-age=0, no-cache, no-store")
    page = captain.get(PAGE).content.decode()
    assert secret not in page
    assert "https://bot.example/&lt;b&gt;" in page
    assert secret not in captain.get(f"{PAGE}/{Webhook.objects.get().pk}").content.decode()


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"address": "http://bot.example/"}, "begins with https://"),
        ({"address": "https://127.0.0.1/"}, "127.0.0.1 is not public"),
        ({"address": ""}, "This field is required"),
        ({"events": []}, "This field is required"),
        ({"events": ["other"]}, "Select a valid choice"),
    ],
)
def test_it_rejects_what_is_no_webhook(captain: Client, changed: dict[str, object], problem: str) -> None:
    page = captain.post(PAGE, FILLED | changed).content.decode()
    assert problem in page
    assert not Webhook.objects.exists()


def test_the_log_shows_what_receivers_answered(captain: Client, delivery: Delivery, the_clock: FakeClock) -> None:
    Delivery.objects.update(
        status=500, milliseconds=1234, answer="<script>", attempts=2, due_at=the_clock.at + timedelta(minutes=1)
    )
    address = f"{PAGE}/{delivery.webhook_id}"
    page = captain.get(address).content.decode()
    for text in ("500", "1,234 ms", "&lt;script&gt;", str(delivery.key), "attempt 2, next"):
        assert text in page
    assert "Send again" not in page
    Delivery.objects.update(due_at=None, state=Delivery.State.GIVEN_UP)
    send = f"{address}/deliveries/{delivery.pk}/send"
    assert send in captain.get(address).content.decode()
    assert "on its way again" in captain.post(send, follow=True).content.decode()
    assert Delivery.objects.filter(key=delivery.key).count() == 2


def test_a_disabled_webhook_is_announced_and_enabled(captain: Client, delivery: Delivery, the_clock: FakeClock) -> None:
    Webhook.objects.update(disabled_at=the_clock.at, failing_since=the_clock.at - timedelta(days=8))
    assert "1 disabled" in captain.get("/teams/owls").content.decode()
    address = f"{PAGE}/{delivery.webhook_id}"
    assert re.search(r"Disabled on .*Every attempt had failed since", captain.get(address).content.decode())
    assert "The webhook is enabled." in captain.post(f"{address}/enable", follow=True).content.decode()
    assert "is not disabled" in captain.post(f"{address}/enable", follow=True).content.decode()
    assert "A test is on its way." in captain.post(f"{address}/test", follow=True).content.decode()
    assert "The webhook is removed." in captain.post(f"{address}/remove", follow=True).content.decode()
    assert captain.post(f"{address}/remove").status_code == 404


def test_webhooks_of_other_teams_are_not_found(captain: Client, delivery: Delivery) -> None:
    Webhook.objects.update(team=None)
    address = f"{PAGE}/{delivery.webhook_id}"
    assert captain.get(address).status_code == 404
    for act in ("test", "enable", "remove", f"deliveries/{delivery.pk}/send"):
        assert captain.post(f"{address}/{act}").status_code == 404
