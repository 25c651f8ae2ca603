"""Changes of webhooks by captains and organisers."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import timedelta

from django.db import transaction

from accounts.models import Team, User
from accounts.selectors import is_captain
from competitions.models import Competition, Entry
from competitions.permissions import require, require_not_archived
from core import clock, event_log, worker_notifications
from core.errors import Refusal, RefusedForNow
from core.roles import Right
from webhooks.models import TEST, Delivery, Webhook, WebhookEvent
from webhooks.outbox import SEND
from webhooks.receiver_address import host_of, read_receiver
from webhooks.signatures import new_nonce, secret_of

MOST = 5
"""Webhooks of a team, and of the organisers of a competition."""
MOST_ASKED, ASKED_IN = 10, timedelta(hours=1)
"""Deliveries that the people of a team, or the organisers, may ask for in a time."""
ADDED_AGAIN = timedelta(minutes=10)
"""For how long the same webhook of a program is a repeated request."""


def add_team_webhook(*, entry: Entry, address: str, events: Collection[str], by: User) -> tuple[Webhook, str]:
    """Add a webhook of a team; return it and its secret, which is shown once. Raise `Refusal`."""
    _require_captain(entry.team, by)
    require_not_archived(entry.competition)
    return _add(entry.competition, entry.team, address, events, by)


def add_team_webhook_once(
    *, entry: Entry, address: str, events: Collection[str], by: User
) -> tuple[Webhook, str, bool]:
    """Add a webhook as `add_team_webhook` does, unless `by` added it within `ADDED_AGAIN`; return also if it is new.

    So a program whose answer was lost may ask again, and gets the secret. The same has an equal address and events.
    """
    _require_captain(entry.team, by)
    with transaction.atomic():
        _lock_owner(entry.competition, entry.team)  # of two requests the second finds it
        recent = {"made_by": by, "made_at__gt": clock.database_now() - ADDED_AGAIN}
        equal = Webhook.objects.filter(
            competition=entry.competition, team=entry.team, address=address.strip(), disabled_at=None, **recent
        )
        known = next((each for each in equal if set(each.events) == set(events)), None)
        if known is not None:
            return known, secret_of(known.nonce), False
        return *add_team_webhook(entry=entry, address=address, events=events, by=by), True


def add_competition_webhook(
    *, competition: Competition, address: str, events: Collection[str], by: User
) -> tuple[Webhook, str]:
    """Add a webhook of the organisers, which tells of all teams; return it and its secret. Raise `Refusal`."""
    require(by, competition, Right.RUN)
    return _add(competition, None, address, events, by)


def remove(*, webhook: Webhook, by: User) -> None:
    """Remove a webhook with its deliveries. Raise `Refusal` for people who may not, and if it is gone."""
    _require_owner(webhook, by)
    with transaction.atomic():
        locked = _locked(webhook)
        # waits for what is just writing deliveries to it
        Webhook.objects.select_for_update().get(pk=locked.pk)
        event_log.record("remove_webhook", locked, by=by, host=host_of(locked.address))
        locked.delete()


def enable(*, webhook: Webhook, by: User) -> None:
    """Send to a disabled webhook again what happens from now on. Raise `Refusal` unless it is disabled."""
    _require_owner(webhook, by)
    with transaction.atomic():
        locked = _locked(webhook)
        if locked.disabled_at is None:
            raise Refusal("the webhook is not disabled", fix="no action needed")
        locked.disabled_at = locked.failing_since = None
        locked.save()
        event_log.record("enable_webhook", locked, by=by)


def ask_for_test(*, webhook: Webhook, by: User) -> Delivery:
    """Send a test delivery, also to a disabled webhook. Raise `RefusedForNow` for too many."""
    _require_owner(webhook, by)
    with transaction.atomic():
        return _ask(_locked(webhook), uuid.uuid4(), by, event=TEST)


def ask_again(*, delivery: Delivery, by: User) -> Delivery:
    """Send a delivery that is over again, with the same id and content. Raise `Refusal`."""
    _require_owner(delivery.webhook, by)
    with transaction.atomic():
        webhook = _locked(delivery.webhook)
        known = webhook.deliveries.filter(pk=delivery.pk).first()
        if known is None:
            raise Refusal("the delivery is not in the log any more", fix="choose a newer one")
        if known.due_at is not None:
            raise Refusal("the delivery is still waiting to be sent", fix="wait until it is over")
        return _ask(webhook, known.key, by, event=known.event, subject=known.subject, at=known.at, body=known.body)


def _add(
    competition: Competition, team: Team | None, address: str, events: Collection[str], by: User
) -> tuple[Webhook, str]:
    address = address.strip()
    read_receiver(address)
    chosen = [each.value for each in WebhookEvent if each in events]
    if not chosen or len(chosen) < len(set(events)):
        raise Refusal("a webhook needs known events", fix=f"choose from: {', '.join(WebhookEvent)}")
    nonce = new_nonce()
    with transaction.atomic():
        _lock_owner(competition, team)
        if Webhook.objects.filter(competition=competition, team=team).count() >= MOST:
            raise Refusal(f"there are already {MOST} webhooks", fix="remove one that nobody uses")
        made = Webhook.objects.create(
            competition=competition, team=team, address=address, events=chosen, nonce=nonce,
            made_at=clock.database_now(), made_by=by,
        )  # fmt: skip
        event_log.record("add_webhook", made, by=by, host=host_of(address), events=chosen)
    return made, secret_of(nonce)


def _ask(webhook: Webhook, key: uuid.UUID, by: User, **values: object) -> Delivery:
    now = clock.database_now()
    asked = Delivery.objects.filter(
        webhook__competition=webhook.competition_id, webhook__team=webhook.team_id, asked_at__gt=now - ASKED_IN
    )
    if asked.count() >= MOST_ASKED:
        first = asked.order_by("asked_at").values_list("asked_at", flat=True)[0] or now
        raise RefusedForNow(
            f"{MOST_ASKED} deliveries were asked for within an hour", accepted_from=first + ASKED_IN, fix="wait"
        )
    made = Delivery.objects.create(
        webhook=webhook, key=key, asked_at=now, due_at=now, **({"at": now} | values)
    )  # fmt: skip
    event_log.record("ask_for_delivery", webhook, by=by, sent=made.event)
    worker_notifications.notify(SEND)
    return made


def _lock_owner(competition: Competition, team: Team | None) -> None:
    """Let nobody else count the webhooks or deliveries of the same owner."""
    if team is not None:
        Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    else:
        Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)


def _locked(webhook: Webhook) -> Webhook:
    _lock_owner(webhook.competition, webhook.team)
    found = Webhook.objects.filter(pk=webhook.pk).first()
    if found is None:
        raise Refusal("the webhook was removed", fix="load the page again")
    return found


def _require_captain(team: Team, by: User) -> None:
    if not is_captain(by, team):
        raise Refusal(f"only the captain of {team} manages its webhooks", fix="ask the captain")


def _require_owner(webhook: Webhook, by: User) -> None:
    if webhook.team is not None:
        _require_captain(webhook.team, by)
    else:
        require(by, webhook.competition, Right.RUN, archived=True)
