"""The Django app of rounds."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig


class RoundsConfig(AppConfig):
    """Rounds and the final."""

    name = "rounds"

    role_lookups: ClassVar = {
        "rounds.Round": "competition__organiser_roles",
        "rounds.RoundEntry": "round__competition__organiser_roles",
        "rounds.Objection": "round__competition__organiser_roles",
        "rounds.Release": "round__competition__organiser_roles",
    }

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("rounds.extensions")
        import_module("rounds.planning.imported_rounds")
