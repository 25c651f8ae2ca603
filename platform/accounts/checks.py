"""System checks of how people sign up."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from accounts.sign_up import EMAIL


@register()
def check_email(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Refuse sign-up by verified e-mail where no e-mail is sent: nobody could finish it."""
    if settings.SIGN_UP != EMAIL or not settings.EMAIL_BACKEND.endswith("dummy.EmailBackend"):
        return []
    return [
        Error(
            "GAUNTLET_SIGN_UP is email, and no server that sends e-mail is named: nobody can verify an address.",
            hint="Set GAUNTLET_EMAIL_HOST, or GAUNTLET_SIGN_UP to open, approval or invitation.",
            id="accounts.E001",
        )
    ]
