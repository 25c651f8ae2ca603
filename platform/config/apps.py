"""The last app, which is ready when the others are."""

from __future__ import annotations

from django.apps import AppConfig

from config.garbage_collection import collect_garbage_of_work


class StartedConfig(AppConfig):
    """What follows the start of a program, whichever program it is."""

    name = "config"

    def ready(self) -> None:
        """End what concerned the start alone."""
        collect_garbage_of_work()
