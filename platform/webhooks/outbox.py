"""Deliveries of what happens: written in the transaction that records it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection
from django.db.models import Model, Q, QuerySet

from competitions.models import Announcement
from core import clock, event_log, worker_notifications
from core.models import Event
from rounds.models import Round
from submissions.models import Submission
from webhooks.models import Delivery, Webhook, WebhookEvent

SEND = "webhooks.send"
"""The task that sends."""

EVENTS: Mapping[tuple[type[Model], str], WebhookEvent] = {
    (Submission, "submit"): WebhookEvent.ACCEPTED,
    (Submission, "ready"): WebhookEvent.READY,
    (Submission, "refuse"): WebhookEvent.REJECTED,
    (Submission, "score"): WebhookEvent.SCORED,
    (Round, "freeze"): WebhookEvent.FROZEN,
    (Round, "publish"): WebhookEvent.PUBLISHED,
    (Announcement, "announce"): WebhookEvent.ANNOUNCEMENT,
}
"""What is delivered, by the row and the verb of the event log. Services of all formats record these verbs."""


def write_deliveries(subject: Model, event: Event, **_: Any) -> None:
    """Write a delivery for each webhook that chose what `event` records."""
    if isinstance(subject, Announcement) and event.verb == "change_announcement":
        _bring_forward(subject, event)
    happened = EVENTS.get((type(subject), event.verb))
    if happened is None:
        return
    webhooks = _kept(Webhook.objects.filter(_concerned(subject), disabled_at=None))
    if not webhooks:
        return
    now = clock.database_now()  # what the sender compares with; this host's clock may be another one
    due = max(now, subject.published_at) if isinstance(subject, Announcement) else now
    made = Delivery.objects.bulk_create(
        Delivery(webhook=each, key=uuid.uuid4(), event=happened, subject=event.subject, at=event.at, due_at=due)
        for each in webhooks
        if happened in each.events
    )
    if made and due <= now:
        worker_notifications.notify(SEND)


def _bring_forward(changed: Announcement, event: Event) -> None:
    """Let what waits for an announcement be sent earlier, if that is published earlier now; `sending` puts it off."""
    now = clock.database_now()
    due = max(now, changed.published_at)
    waiting = Delivery.objects.filter(subject=event.subject, event=WebhookEvent.ANNOUNCEMENT, attempts=0)
    if waiting.filter(due_at__gt=due).update(due_at=due) and due <= now:
        worker_notifications.notify(SEND)


def _kept(webhooks: QuerySet[Webhook]) -> Sequence[Webhook]:
    """Return webhooks that stay until the end of the transaction: a removal meanwhile would undo all of it.

    Their locks exclude a removal alone (`services.remove`); Django has none of this kind.
    """
    if connection.vendor != "postgresql":  # writers wait for each other
        return list(webhooks)
    sql, parameters = webhooks.order_by("pk").query.sql_with_params()
    return list(Webhook.objects.raw(f"{sql} FOR KEY SHARE", parameters))


def _concerned(subject: Model) -> Q:
    """Return the condition for the webhooks that may know of a row."""
    if isinstance(subject, Submission):
        entry = subject.repository.entry
        return Q(competition=entry.competition_id) & (Q(team=None) | Q(team=entry.team_id))
    if isinstance(subject, Round | Announcement):
        return Q(competition=subject.competition_id)
    raise TypeError(subject)


event_log.recorded.connect(write_deliveries, dispatch_uid="webhooks.outbox")
