"""Time zone of the reader of a page: that of a choice (a cookie), else UTC. Programs and the admin read UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.cache import patch_vary_headers

ZONE_COOKIE = "gauntlet_time_zone"

_NOT_PAGES = ("/admin/", "/api/", "/git/")
"""Addresses below which every time is in UTC."""


def reader(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware that sets the zone. It comes before everything that can answer with a page."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        is_page = not request.path_info.startswith(_NOT_PAGES)
        timezone.activate((zone_named(request.COOKIES.get(ZONE_COOKIE, "")) if is_page else None) or UTC)
        response = get_response(request)
        if is_page and response.headers.get("Content-Type", "").startswith("text/html"):
            patch_vary_headers(response, ("Cookie",))
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
