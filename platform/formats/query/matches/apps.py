"""The Django app of matches."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class MatchesConfig(AppConfig):
    """Matches and the workers that play them."""

    name = "formats.query.matches"

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("formats.query.matches.extensions")
