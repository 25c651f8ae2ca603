"""The Django app of matches."""

from __future__ import annotations

from django.apps import AppConfig


class MatchesConfig(AppConfig):
    """Matches and the workers that play them."""

    name = "matches"
