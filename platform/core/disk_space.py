"""The space on the disk of the state folder."""

from __future__ import annotations

import shutil

from django.conf import settings

LEAST_FREE = 5 << 30
"""Free bytes below which operators are warned: five times what a checkout leaves free."""


def free_bytes() -> int:
    """Return the free bytes of the disk of the state folder."""
    return shutil.disk_usage(settings.STATE).free
