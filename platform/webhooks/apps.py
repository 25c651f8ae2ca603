"""The Django app of webhooks."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Webhooks and their deliveries."""

    name = "webhooks"

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("webhooks.outbox")
