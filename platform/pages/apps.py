"""The Django app of the pages."""

from __future__ import annotations

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """Configuration of the pages app."""

    name = "pages"
