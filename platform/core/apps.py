"""The Django app of the ground."""

from __future__ import annotations

from django.apps import AppConfig


class CoreConfig(AppConfig):
    """The event log."""

    name = "core"
