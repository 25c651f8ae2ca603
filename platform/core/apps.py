"""The Django app of the shared foundations."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class CoreConfig(AppConfig):
    """The event log, and what else all apps share."""

    name = "core"

    def ready(self) -> None:
        """Register the system checks, and watch the tables after each `migrate`."""
        import_module("core.checks")
        post_migrate.connect(import_module("core.table_versions").watch_after_migrate, sender=self)
