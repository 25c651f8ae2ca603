"""Django's check that players of strangers are never run by a sandbox that stops nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import Error

from submissions.sandboxes import needs_trusted_code

# the last is how Django's test client calls its site
_THIS_HOST_ALONE = frozenset({"localhost", "127.0.0.1", "[::1]", "testserver"})


def check_trust(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[Error]:
    """An error where the process sandbox is chosen and the site answers to names that others can reach."""
    strangers = sorted(set(settings.ALLOWED_HOSTS) - _THIS_HOST_ALONE)
    if not strangers or not needs_trusted_code():
        return []
    return [
        Error(
            f"players run in the {settings.SANDBOX} sandbox, which is for trusted code only, and the site answers to "
            f"{', '.join(strangers)}: whoever can push runs code on this host",
            hint="set GAUNTLET_SANDBOX=docker, or leave GAUNTLET_HOSTS unset",
            id="submissions.E001",
        )
    ]
