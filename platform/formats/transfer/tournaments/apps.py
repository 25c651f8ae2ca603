"""The Django app of tournaments."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig


class TournamentsConfig(AppConfig):
    """Tournaments of the transfer format: every attack against every defence."""

    name = "formats.transfer.tournaments"
    beat_schedule: ClassVar = {
        "tournaments.sweep": {"task": "tournaments.sweep", "schedule": 10.0},
    }

    role_lookups: ClassVar = {
        "tournaments.Tournament": "competition__organiser_roles",
        "tournaments.Entrant": "tournament__competition__organiser_roles",
        "tournaments.AttackRun": "tournament__competition__organiser_roles",
        "tournaments.DefenceRun": "attack_run__tournament__competition__organiser_roles",
        "tournaments.RepeatRun": "tournament__competition__organiser_roles",
        "tournaments.PairTotal": "tournament__competition__organiser_roles",
    }

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("formats.transfer.tournaments.extensions")
