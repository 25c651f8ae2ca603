"""The Django app of the pages."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """Configuration of the pages app."""

    name = "pages"

    def ready(self) -> None:
        """Register the system checks."""
        import_module("pages.site.brand_checks")
