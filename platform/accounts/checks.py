"""System checks of the sign-up settings."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from accounts.sign_up import EMAIL


@register()
def check_email(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return an error if sign-up needs a verified e-mail address and the site sends no e-mail."""
    if settings.SIGN_UP != EMAIL or not settings.EMAIL_BACKEND.endswith("dummy.EmailBackend"):
        return []
    return [
        Error(
            "GAUNTLET_SIGN_UP is email, but no mail server is set, so no address can be verified.",
            hint="Set GAUNTLET_EMAIL_HOST, or GAUNTLET_SIGN_UP to open, approval or invitation.",
            id="accounts.E001",
        )
    ]
