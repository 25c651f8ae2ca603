"""Queries about webhooks."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet

from competitions.models import Entry
from webhooks.models import Delivery, Webhook

LOGGED = 50
"""Deliveries that the page of a webhook shows."""


def webhooks_of(entry: Entry) -> QuerySet[Webhook]:
    """Return the webhooks of a team, each with the number of deliveries that wait."""
    waiting = Count("deliveries", filter=Q(deliveries__due_at__isnull=False))
    return Webhook.objects.filter(competition=entry.competition_id, team=entry.team_id).annotate(waiting=waiting)


def newest_deliveries(webhook: Webhook) -> QuerySet[Delivery]:
    """Return the newest deliveries of a webhook."""
    return webhook.deliveries.order_by("-pk")[:LOGGED]
