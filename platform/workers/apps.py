"""The Django app of workers."""

from __future__ import annotations

from django.apps import AppConfig


class WorkersConfig(AppConfig):
    """Workers, their hosts, and the time that teams use of them."""

    name = "workers"
