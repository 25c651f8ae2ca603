"""The Django app of operations."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """The commands `doctor`, `backup` and `restore`, and the status in the API."""

    name = "operations"

    def ready(self) -> None:
        """Connect what it adds to lower apps."""
        import_module("operations.extensions")
