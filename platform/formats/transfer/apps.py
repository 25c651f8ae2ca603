"""The Django app of the transfer format."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig

from config.admin_theme import AdminPage


class TransferConfig(AppConfig):
    """The transfer format."""

    name = "formats.transfer"
    label = "transfer_format"
    verbose_name = "Transfer format"
    task_routes: ClassVar = {"tournaments.make_baselines": {"queue": "build"}}
    lock_order: ClassVar = {
        "rounds.SigningKey": (
            "tournaments.Tournament",
            "tournaments.AttackRun",
            "tournaments.DefenceRun",
            "tournaments.RepeatRun",
            "tournaments.PairTotal",
            "tournaments.Entrant",
        )
    }
    admin_pages: ClassVar = {
        "Tournaments": (
            AdminPage("Tournaments", "grid_on", "tournaments_tournament"),
            AdminPage("Entrants", "groups", "tournaments_entrant"),
            AdminPage("Runs of attacks", "bolt", "tournaments_attackrun"),
            AdminPage("Runs of defences", "shield", "tournaments_defencerun"),
            AdminPage("Repeated runs", "replay", "tournaments_repeatrun"),
            AdminPage("Totals of pairs", "functions", "tournaments_pairtotal"),
        )
    }

    def ready(self) -> None:
        """Register the format."""
        import_module("formats.transfer.format")
