"""The Django app of the curves format."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig

from config.admin_theme import AdminPage


class CurvesConfig(AppConfig):
    """The curves format."""

    name = "formats.curves"
    label = "curves_format"
    verbose_name = "Curves format"
    beat_schedule: ClassVar = {
        "curves.sweep": {"task": "curves.sweep", "schedule": 10.0},
    }

    lock_order: ClassVar = {
        "rounds.SigningKey": ("curves_format.Benchmark", "curves_format.ModelScore", "curves_format.Proof")
    }
    admin_pages: ClassVar = {
        "Benchmarks": (
            AdminPage("Benchmarks", "show_chart", "curves_format_benchmark"),
            AdminPage("Scores of models", "scoreboard", "curves_format_modelscore"),
            AdminPage("Proofs", "fact_check", "curves_format_proof"),
            AdminPage("Best known distances", "trending_down", "curves_format_improvement"),
        )
    }

    role_lookups: ClassVar = {
        "curves_format.Benchmark": "rules__competition__organiser_roles",
        "curves_format.ModelScore": "rules__competition__organiser_roles",
        "curves_format.Proof": "round_entry__round__competition__organiser_roles",
        "curves_format.Improvement": "proof__round_entry__round__competition__organiser_roles",
    }

    def ready(self) -> None:
        """Register the format."""
        import_module("formats.curves.format")
