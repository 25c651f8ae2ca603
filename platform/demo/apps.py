"""The Django app of the demo."""

from __future__ import annotations

from django.apps import AppConfig


class DemoConfig(AppConfig):
    """The commands that run the site on one host."""

    name = "demo"
