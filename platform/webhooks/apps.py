"""The Django app of webhooks."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Webhooks and their deliveries."""

    name = "webhooks"

    lock_order: ClassVar = {"rounds.SigningKey": ("webhooks.Webhook",)}

    role_lookups: ClassVar = {
        "webhooks.Webhook": "competition__organiser_roles",
        "webhooks.Delivery": "webhook__competition__organiser_roles",
    }

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("webhooks.outbox")
