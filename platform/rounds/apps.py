"""The Django app of rounds."""

from __future__ import annotations

from django.apps import AppConfig


class RoundsConfig(AppConfig):
    """Rounds and the final."""

    name = "rounds"
