"""The Django app of submissions."""

from __future__ import annotations

from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    """The app of submissions: from a commit to a player."""

    name = "submissions"
