"""The Django app of submissions."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    """The app of submissions: from a commit to a player."""

    name = "submissions"

    role_lookups: ClassVar = {
        "submissions.Submission": "repository__track__competition__organiser_roles",
        "submissions.QuotaSlot": "repository__track__competition__organiser_roles",
        "submissions.Build": "submission__repository__track__competition__organiser_roles",
        "submissions.LogChunk": "build__submission__repository__track__competition__organiser_roles",
        "submissions.Player": "competition__organiser_roles",
    }

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("submissions.extensions")
