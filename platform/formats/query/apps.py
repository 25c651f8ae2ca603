"""The Django app of the query format."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class QueryConfig(AppConfig):
    """The query format."""

    name = "formats.query"
    label = "query_format"
    verbose_name = "Query format"

    def ready(self) -> None:
        """Register the format."""
        import_module("formats.query.format")
