"""The Django app of the pages."""

from __future__ import annotations

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """Home and other pages without tables."""

    name = "pages"
