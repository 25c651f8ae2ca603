"""The Django app of submissions."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    """The app of submissions: from a commit to a player."""

    name = "submissions"

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("submissions.extensions")
