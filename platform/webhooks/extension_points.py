"""What webhooks ask higher apps. They add their functions in `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Model

from core.extension_point import ExtensionPoint

shown_object: ExtensionPoint[[Model], Mapping[str, Any] | None] = ExtensionPoint()
"""What does the API show of a row? A submission as its team sees it, all else as the public; None for another row."""
