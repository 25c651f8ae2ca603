"""The Django app of the API."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The REST API; it has no models."""

    name = "api"

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("api.webhook_payloads")
