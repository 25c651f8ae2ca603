"""Name, logo and colour of the site, from the settings."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

LOGO_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
"""Content types of logos, by the end of their names."""

LIGHT_GROUNDS = ("#ffffff", "#fbfaf6", "#f3f1ec")
DARK_GROUNDS = ("#161920", "#0f1117", "#090b10")
"""Backgrounds of text in `site.css`: --card, --paper and --sunken."""


def context(request: HttpRequest) -> dict[str, Any]:
    """Return what every template knows of the brand (a context processor)."""
    accent = settings.SITE_ACCENT
    return {
        "site_name": settings.SITE_NAME,
        "site_logo": f"{reverse('pages:logo')}?{_version(logo())}" if settings.SITE_LOGO else "",
        "site_style": f"{reverse('pages:brand_style')}?{_version(style(accent).encode())}" if accent else "",
    }


def logo() -> bytes:
    """Return the file of the logo."""
    return _read(settings.SITE_LOGO)


def style(accent: tuple[str, str]) -> str:
    """Return the style sheet that sets the colour of links and first buttons: `accent` on light and on dark pages."""
    light, dark = accent
    return (
        f":root {{ --link: light-dark({light}, {dark}); --accent: var(--link); }}\n"
        ".button-first, .menu .call { border-color: var(--accent); background: var(--accent); }\n"
        ".masthead { border-top: 0.25rem solid var(--accent); }\n"
    )


@lru_cache(maxsize=1)
def _read(path: Path) -> bytes:
    return path.read_bytes()


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
