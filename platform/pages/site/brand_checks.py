"""System checks of the brand: the logo can be read, and text in the accent colour has enough contrast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from pages.site.brand import DARK_GROUNDS, LIGHT_GROUNDS, LOGO_TYPES
from pages.site.contrast import LEAST, contrast

_LARGEST_LOGO = 256 << 10


@register()
def check_brand(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return errors in the brand's settings."""
    return [*_about_logo(), *_about_accent()]


def _about_logo() -> Iterator[CheckMessage]:
    path = settings.SITE_LOGO
    if path is None:
        return
    if path.suffix.lower() not in LOGO_TYPES or not path.is_file() or path.stat().st_size > _LARGEST_LOGO:
        yield Error(
            f"GAUNTLET_LOGO is {path}, which is not an SVG or PNG file of at most 256 KiB.",
            hint="Set it to such a file, or leave it out.",
            id="pages.E001",
        )


def _about_accent() -> Iterator[CheckMessage]:
    if not settings.SITE_ACCENT:
        return
    for colour, grounds, where in zip(
        settings.SITE_ACCENT, (LIGHT_GROUNDS, DARK_GROUNDS), ("light", "dark"), strict=True
    ):
        worst = min(contrast(colour, ground) for ground in grounds)
        if worst < LEAST:
            yield Error(
                f"GAUNTLET_ACCENT: {colour} has a contrast of {worst:.1f} on the {where} background, below {LEAST}.",
                hint=f"Set a {'darker' if where == 'light' else 'lighter'} colour.",
                id="pages.E002",
            )
