"""The Django app of challenges."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig


class ChallengesConfig(AppConfig):
    """Challenges and the workers that play them."""

    name = "formats.query.challenges"
    lock_order: ClassVar = {"rounds.SigningKey": ("challenges.Challenge",)}

    role_lookups: ClassVar = {
        "challenges.Challenge": "rules__competition__organiser_roles",
    }

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("formats.query.challenges.extensions")
