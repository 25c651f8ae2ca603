"""The Django app of repositories."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class RepositoriesConfig(AppConfig):
    """The teams' git repositories."""

    name = "repositories"

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("repositories.extensions")
