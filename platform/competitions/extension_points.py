"""Questions of competitions that higher apps answer. They add their functions in `AppConfig.ready`."""

from __future__ import annotations

from django.db.models import QuerySet

from competitions.models import FreezeWindow, SampleSet
from core.extension_point import ExtensionPoint

sets_in_use: ExtensionPoint[[], QuerySet[SampleSet]] = ExtensionPoint()
"""Which sample sets have been used to measure players?"""

owns_window: ExtensionPoint[[FreezeWindow], bool] = ExtensionPoint()
"""Is the freeze window part of something whose actions alone change it?"""
