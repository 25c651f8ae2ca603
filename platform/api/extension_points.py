"""A question of the API that higher apps answer. They add their functions in `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import URLPattern

from core.extension_point import ExtensionPoint

further_addresses: ExtensionPoint[[], Sequence[URLPattern]] = ExtensionPoint()
"""Which addresses of version 1 are of this app alone?"""
