"""The Django app of repositories."""

from __future__ import annotations

from django.apps import AppConfig


class RepositoriesConfig(AppConfig):
    """The teams' git repositories."""

    name = "repositories"
