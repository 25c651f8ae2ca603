"""The Django app of the API."""

from __future__ import annotations

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The REST API; it has no models."""

    name = "api"
