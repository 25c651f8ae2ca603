"""The Django app of the curves format."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig


class CurvesConfig(AppConfig):
    """The curves format."""

    name = "formats.curves"
    label = "curves_format"
    verbose_name = "Curves format"
    beat_schedule: ClassVar = {
        "curves.sweep": {"task": "curves.sweep", "schedule": 10.0, "options": {"expires": 10.0}},
    }

    def ready(self) -> None:
        """Register the format."""
        import_module("formats.curves.format")
