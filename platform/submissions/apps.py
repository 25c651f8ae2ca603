"""The Django app of submissions."""

from __future__ import annotations

from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    """From a commit to a player."""

    name = "submissions"
