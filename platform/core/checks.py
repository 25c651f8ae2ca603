"""System checks of inconsistent settings."""

from __future__ import annotations

import tempfile
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as CheckWarning

from core.participant_kit import kit
from evaluation import __version__

LONGEST_TEMPORARY_DIRECTORY = 70
"""Bytes. The address of a Unix socket has at most 107, and those of pushes and players lie in folders below."""


@register()
def check_temporary_directory(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return an error if sockets in the temporary directory would have too long addresses: no push would end."""
    folder = tempfile.gettempdir()
    if len(folder.encode()) <= LONGEST_TEMPORARY_DIRECTORY:
        return []
    return [
        Error(
            f"The temporary directory {folder} has a path of more than {LONGEST_TEMPORARY_DIRECTORY} bytes, too long "
            "for the sockets of pushes and players.",
            hint="Set TMPDIR (with Compose: GAUNTLET_DIRECTORY) to a shorter path.",
            id="core.E001",
        )
    ]


@register()
def check_admins(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn where errors are to be mailed and no e-mail is sent."""
    if not settings.ADMINS or not settings.EMAIL_BACKEND.endswith("dummy.EmailBackend"):
        return []
    return [
        CheckWarning(
            "GAUNTLET_ADMINS is set, and no server that sends e-mail is named: errors are only logged.",
            hint="Set GAUNTLET_EMAIL_HOST, or leave GAUNTLET_ADMINS out.",
            id="core.W002",
        )
    ]


@register()
def check_kit(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn where participants would get another version of the command than the site has, or a part of it."""
    if not settings.KIT.exists():
        return []
    found = kit()
    if found is not None and found.command.version == __version__:
        return []
    has = "is incomplete" if found is None else f"has version {found.command.version}, and the site {__version__}"
    return [CheckWarning(f"The kit in {settings.KIT} {has}.", hint="Run make kit.", id="core.W003")]


@register(Tags.security, deploy=True)
def check_proxies(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn if every visitor appears under the proxy's address, so that one visitor can use up the limits of all."""
    if not settings.HTTPS or settings.PROXIES:
        return []
    return [
        CheckWarning(
            "GAUNTLET_HTTPS is true and GAUNTLET_PROXIES is 0: all visitors appear under the proxy's address and share "
            "one limit for log-ins, sign-ups and the API.",
            hint="Set GAUNTLET_PROXIES to the number of your proxies that add to X-Forwarded-For, usually 1.",
            id="core.W001",
        )
    ]
