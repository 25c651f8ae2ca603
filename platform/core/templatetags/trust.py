"""Template tag for the isolation warning."""

from __future__ import annotations

from django import template
from django.conf import settings

from core.sandbox_trust import PROCESS

register = template.Library()


@register.simple_tag
def isolation_warning() -> str:
    """Return the banner for the process sandbox; empty with other sandboxes."""
    if settings.SANDBOX != PROCESS:
        return ""
    return (
        "Submissions are not isolated from this host (process sandbox). Anybody who can push can run any program on it."
    )
