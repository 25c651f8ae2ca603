"""The Django app of repositories."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig


class RepositoriesConfig(AppConfig):
    """The teams' git repositories."""

    name = "repositories"

    role_lookups: ClassVar = {
        "repositories.Repository": "track__competition__organiser_roles",
        "repositories.PushCost": "team__entry__competition__organiser_roles",
    }

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("repositories.extensions")
