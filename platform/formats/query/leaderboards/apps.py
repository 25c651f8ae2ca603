"""The Django app of leaderboards."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig


class LeaderboardsConfig(AppConfig):
    """Pools, evaluations and boards."""

    name = "formats.query.leaderboards"
    beat_schedule: ClassVar = {
        "leaderboards.sweep": {"task": "leaderboards.sweep", "schedule": 10.0},
        "leaderboards.refresh_boards": {"task": "leaderboards.refresh_boards", "schedule": 60.0},
    }

    role_lookups: ClassVar = {
        "leaderboards.Pool": "track__competition__organiser_roles",
        "leaderboards.PoolPlace": "pool__track__competition__organiser_roles",
        "leaderboards.Evaluation": "sample_set__competition__organiser_roles",
        "leaderboards.Resamples": "evaluation__sample_set__competition__organiser_roles",
        "leaderboards.Rejudging": "competition__organiser_roles",
        "leaderboards.Snapshot": "track__competition__organiser_roles",
        "leaderboards.Standing": "track__competition__organiser_roles",
        "leaderboards.SubmissionChoice": "repository__track__competition__organiser_roles",
    }

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("formats.query.leaderboards.extensions")
