"""The Django app of competitions."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig


class CompetitionsConfig(AppConfig):
    """Competitions and their settings."""

    name = "competitions"

    role_lookups: ClassVar = {
        "accounts.Team": "entry__competition__organiser_roles",
        "accounts.Membership": "team__entry__competition__organiser_roles",
        "competitions.Page": "competition__organiser_roles",
        "competitions.Announcement": "competition__organiser_roles",
        "competitions.TermsVersion": "competition__organiser_roles",
        "competitions.TermsAcceptance": "entry__competition__organiser_roles",
        "competitions.Organiser": "competition__organiser_roles",
        "competitions.Track": "competition__organiser_roles",
        "competitions.RulesVersion": "competition__organiser_roles",
        "competitions.SampleSet": "competition__organiser_roles",
        "competitions.FreezeWindow": "competition__organiser_roles",
        "competitions.CompetitionOrigin": "competition__organiser_roles",
        "competitions.Entry": "competition__organiser_roles",
        "competitions.Competition": "organiser_roles",
        "competitions.FrozenLeaderboards": "competition__organiser_roles",
    }

    def ready(self) -> None:
        """Connect what this app adds to lower ones."""
        import_module("competitions.extensions")
