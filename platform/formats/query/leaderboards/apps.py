"""The Django app of leaderboards."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class LeaderboardsConfig(AppConfig):
    """Pools, evaluations and boards."""

    name = "formats.query.leaderboards"

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("formats.query.leaderboards.extensions")
