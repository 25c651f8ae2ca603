"""The Django app of competitions."""

from __future__ import annotations

from django.apps import AppConfig


class CompetitionsConfig(AppConfig):
    """Competitions and their settings."""

    name = "competitions"
