"""How people sign up here, for pages that lead there."""

from __future__ import annotations

from django import template
from django.conf import settings

register = template.Library()


@register.simple_tag
def sign_up_mode() -> str:
    """The setting GAUNTLET_SIGN_UP."""
    return str(settings.SIGN_UP)
