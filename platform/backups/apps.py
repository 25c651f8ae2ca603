"""The Django app of backups."""

from __future__ import annotations

from django.apps import AppConfig


class BackupsConfig(AppConfig):
    """The commands `backup` and `restore`."""

    name = "backups"
