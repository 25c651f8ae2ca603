"""The Django app of workers."""

from __future__ import annotations

from typing import ClassVar

from django.apps import AppConfig


class WorkersConfig(AppConfig):
    """Workers, their hosts, and the time that teams use of them."""

    name = "workers"

    role_lookups: ClassVar = {
        "workers.WorkerTime": "entry__competition__organiser_roles",
    }
