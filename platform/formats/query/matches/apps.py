"""The Django app of matches."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from celery.schedules import crontab
from django.apps import AppConfig


class MatchesConfig(AppConfig):
    """Matches and the workers that play them."""

    name = "formats.query.matches"
    beat_schedule: ClassVar = {
        "matches.sweep": {"task": "matches.sweep", "schedule": 10.0},
        "matches.sweep_kept_frames": {"task": "matches.sweep_kept_frames", "schedule": crontab(hour=4, minute=45)},
    }

    role_lookups: ClassVar = {
        "matches.Match": "rules__competition__organiser_roles",
        "matches.Piece": "match__rules__competition__organiser_roles",
        "matches.SampleResult": "match__rules__competition__organiser_roles",
    }

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("formats.query.matches.extensions")
