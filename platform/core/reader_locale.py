"""Language and time zone of the reader of a page.

The language is that of the reader's choice (a cookie), else of `Accept-Language`, else English. The zone is a choice,
too (a cookie), else UTC. Programs and the admin read English and UTC, whatever their headers say: git sends
`Accept-Language`, and what a push answers is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers

ZONE_COOKIE = "gauntlet_time_zone"

_NOT_PAGES = ("/admin/", "/api/", "/git/")
"""Addresses below which everything is in English and UTC."""


def reader(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware that sets language and zone. It comes before everything that can answer with a page."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        is_page = not request.path_info.startswith(_NOT_PAGES)
        language = translation.get_language_from_request(request) if is_page else settings.LANGUAGE_CODE
        translation.activate(language)
        timezone.activate((zone_named(request.COOKIES.get(ZONE_COOKIE, "")) if is_page else None) or UTC)
        response = get_response(request)
        if is_page and response.headers.get("Content-Type", "").startswith("text/html"):
            patch_vary_headers(response, ("Accept-Language", "Cookie"))
            response.headers.setdefault("Content-Language", language)
        return response

    return middleware


ZONES = frozenset(
    name
    for name in available_timezones()
    if name == "UTC"
    or name.startswith(
        (
            *("Africa/", "America/", "Antarctica/", "Arctic/", "Asia/"),
            *("Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/"),
        )
    )
)
"""Names of the zones to choose from, of the IANA database: places, and UTC."""


def zone_named(name: str) -> ZoneInfo | None:
    """Return the zone with a name of `ZONES`, None if there is none."""
    return ZoneInfo(name) if name in ZONES else None
