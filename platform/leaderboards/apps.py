"""The Django app of leaderboards."""

from __future__ import annotations

from django.apps import AppConfig


class LeaderboardsConfig(AppConfig):
    """Pools, evaluations and boards."""

    name = "leaderboards"
