"""The banner that says that submissions are not isolated."""

from __future__ import annotations

from django import template
from django.conf import settings

from core.sandbox_trust import PROCESS

register = template.Library()


@register.simple_tag
def isolation_warning() -> str:
    """What every page says while the process sandbox is chosen; empty with another one."""
    if settings.SANDBOX != PROCESS:
        return ""
    return (
        "Submissions are not isolated from this host (process sandbox): anybody who can push can run any program on it."
    )
