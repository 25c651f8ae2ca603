"""The Django app of the shared foundations."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class CoreConfig(AppConfig):
    """The event log."""

    name = "core"

    def ready(self) -> None:
        """Register the system checks."""
        import_module("core.checks")
