"""The Django app of the query format's rounds."""

from __future__ import annotations

from typing import ClassVar

from django.apps import AppConfig


class QueryRoundsConfig(AppConfig):
    """What the query format keeps of rounds."""

    name = "formats.query.rounds"
    label = "query_rounds"
    verbose_name = "Rounds of the query format"

    role_lookups: ClassVar = {
        "query_rounds.RoundMatch": "round__competition__organiser_roles",
        "query_rounds.RoundStage": "round__competition__organiser_roles",
        "query_rounds.Decision": "stage__round__competition__organiser_roles",
        "query_rounds.RoundWarning": "round__competition__organiser_roles",
    }
