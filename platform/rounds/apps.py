"""The Django app of rounds."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class RoundsConfig(AppConfig):
    """Rounds and the final."""

    name = "rounds"

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("rounds.extensions")
        import_module("rounds.planning.imported_rounds")
