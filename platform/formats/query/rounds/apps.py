"""The Django app of the query format's rounds."""

from __future__ import annotations

from django.apps import AppConfig


class QueryRoundsConfig(AppConfig):
    """What the query format keeps of rounds."""

    name = "formats.query.rounds"
    label = "query_rounds"
    verbose_name = "Rounds of the query format"
