"""Who may add, test and remove webhooks, and how many."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from accounts.models import User
from competitions.models import Competition, Entry, Organiser
from core.errors import Refusal, RefusedForNow
from core.models import Event
from core.roles import RIGHTS, OrganiserRole, Right
from tests.platform.conftest import FakeClock
from tests.platform.webhooks.conftest import TestReceiver
from webhooks import services
from webhooks.models import Delivery, Webhook, WebhookEvent
from webhooks.signatures import secret_of

ADDRESS = "https://bot.example/gauntlet"
EVENTS = ["round.published", "submission.ready"]
Send = Callable[[], bool]


def test_a_captain_adds_a_webhook_and_gets_its_secret(entry: Entry, alice: User) -> None:
    made, secret = services.add_team_webhook(entry=entry, address=f" {ADDRESS} ", events=EVENTS, by=alice)
    assert (made.address, made.team, made.events) == (ADDRESS, entry.team, ["submission.ready", "round.published"])
    assert secret == secret_of(made.nonce)
    assert secret.startswith("gtw_")
    assert secret not in str(Webhook.objects.values())
    assert Event.objects.get(verb="add_webhook").data == {
        "host": "bot.example",
        "events": ["submission.ready", "round.published"],
    }


def test_the_secret_depends_on_the_key_of_the_site(settings: object, entry: Entry, alice: User) -> None:
    made, secret = services.add_team_webhook(entry=entry, address=ADDRESS, events=EVENTS, by=alice)
    settings.SECRET_KEY = "another one"  # type: ignore[attr-defined] # noqa: S105 - of nobody
    assert secret_of(made.nonce) != secret


def test_it_rejects_everybody_but_the_captain(entry: Entry, alice: User, bob: User, olga: User) -> None:
    made, _ = services.add_team_webhook(entry=entry, address=ADDRESS, events=EVENTS, by=alice)
    for by in (bob, olga):
        with pytest.raises(Refusal, match="only the captain"):
            services.add_team_webhook(entry=entry, address=ADDRESS, events=EVENTS, by=by)
        for act in (services.remove, services.enable, services.ask_for_test):
            with pytest.raises(Refusal, match="only the captain"):
                act(webhook=made, by=by)
    assert Webhook.objects.count() == 1


@pytest.mark.parametrize("role", OrganiserRole)
def test_organisers_who_run_a_competition_add_webhooks_of_it(
    competition: Competition, olga: User, role: OrganiserRole
) -> None:
    Organiser.objects.update(role=role)
    if Right.RUN in RIGHTS[role]:
        made, _ = services.add_competition_webhook(competition=competition, address=ADDRESS, events=EVENTS, by=olga)
        services.remove(webhook=made, by=olga)
        return
    with pytest.raises(Refusal, match="does not allow"):
        services.add_competition_webhook(competition=competition, address=ADDRESS, events=EVENTS, by=olga)


@pytest.mark.parametrize("events", [[], ["test"], ["submission.ready", "everything"]])
def test_it_rejects_other_events(entry: Entry, alice: User, events: list[str]) -> None:
    with pytest.raises(Refusal, match="known events"):
        services.add_team_webhook(entry=entry, address=ADDRESS, events=events, by=alice)


def test_it_rejects_a_sixth_webhook(entry: Entry, alice: User) -> None:
    for _ in range(services.MOST):
        services.add_team_webhook(entry=entry, address=ADDRESS, events=EVENTS, by=alice)
    with pytest.raises(Refusal, match="already 5"):
        services.add_team_webhook(entry=entry, address=ADDRESS, events=EVENTS, by=alice)


def test_people_ask_for_ten_deliveries_in_an_hour(
    webhook: Webhook, alice: User, receiver: TestReceiver, send: Send, the_clock: FakeClock
) -> None:
    first = services.ask_for_test(webhook=webhook, by=alice)
    send()
    for _ in range(services.MOST_ASKED - 1):
        services.ask_again(delivery=first, by=alice)
        the_clock.forward(minutes=1)
    with pytest.raises(RefusedForNow) as refused:
        services.ask_for_test(webhook=webhook, by=alice)
    assert refused.value.accepted_from == first.at + timedelta(hours=1)
    the_clock.at = first.at + timedelta(hours=1)
    services.ask_for_test(webhook=webhook, by=alice)
    while send():
        pass
    assert len({headers["Gauntlet-Delivery"] for _, headers, _ in receiver.requests}) == 2
    assert len({body for _, headers, body in receiver.requests if headers["Gauntlet-Delivery"] == str(first.key)}) == 1


def test_it_rejects_to_repeat_what_still_waits_and_what_is_gone(webhook: Webhook, alice: User, send: Send) -> None:
    waits = services.ask_for_test(webhook=webhook, by=alice)
    with pytest.raises(Refusal, match="still waiting"):
        services.ask_again(delivery=waits, by=alice)
    Delivery.objects.all().delete()
    with pytest.raises(Refusal, match="not in the log"):
        services.ask_again(delivery=waits, by=alice)
    services.remove(webhook=webhook, by=alice)
    for act in (services.remove, services.enable, services.ask_for_test):
        with pytest.raises(Refusal, match="was removed"):
            act(webhook=webhook, by=alice)


def test_values_of_events_never_change() -> None:
    assert set(WebhookEvent.values) == {
        "submission.accepted", "submission.ready", "submission.rejected", "submission.scored", "round.frozen",
        "round.published", "announcement.published",
    }  # fmt: skip
