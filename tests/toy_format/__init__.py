"""A format for tests: a submission names a class of images, and scores the share of images that have it."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig

NAME = "toy"


class ToyConfig(AppConfig):
    name = "tests.toy_format"
    beat_schedule: ClassVar = {"toy.sweep": {"task": "toy.sweep", "schedule": 10.0}}

    def ready(self) -> None:
        import_module("tests.toy_format.format")
