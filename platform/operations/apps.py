"""The Django app of operations."""

from __future__ import annotations

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """The commands `doctor`, `backup` and `restore`."""

    name = "operations"
