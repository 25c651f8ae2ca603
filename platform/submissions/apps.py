"""The Django app of submissions."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.checks import Tags, register

from submissions.trust import check_trust


class SubmissionsConfig(AppConfig):
    """From a commit to a player."""

    name = "submissions"

    def ready(self) -> None:
        register(check_trust, Tags.security)
