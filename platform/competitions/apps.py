"""The Django app of competitions."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class CompetitionsConfig(AppConfig):
    """Competitions and their settings."""

    name = "competitions"

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("competitions.extensions")
