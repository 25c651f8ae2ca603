"""Template tag for the sign-up mode."""

from __future__ import annotations

from django import template
from django.conf import settings

register = template.Library()


@register.simple_tag
def sign_up_mode() -> str:
    """Return the setting GAUNTLET_SIGN_UP."""
    return str(settings.SIGN_UP)
