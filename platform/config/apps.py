"""The app that is ready last, when a program of the site has started."""

from __future__ import annotations

from django.apps import AppConfig

from config.garbage_collection import begin_garbage_collection


class StartedConfig(AppConfig):
    """The app of the settings; Django calls its `ready` after that of all others, in every program."""

    name = "config"

    def ready(self) -> None:
        """Begin garbage collection, which waits for the end of the start."""
        begin_garbage_collection()
