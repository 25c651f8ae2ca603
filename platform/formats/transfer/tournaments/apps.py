"""The Django app of tournaments."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class TournamentsConfig(AppConfig):
    """Tournaments of the transfer format: every attack against every defence."""

    name = "formats.transfer.tournaments"

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("formats.transfer.tournaments.extensions")
