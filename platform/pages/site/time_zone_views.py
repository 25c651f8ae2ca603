"""The reader's choice of a time zone, in a cookie."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.timezone import get_current_timezone_name
from django.views.decorators.http import require_http_methods

from core.reader_time_zone import ZONE_COOKIE, ZONES, zone_named

_KEPT = timedelta(days=365)


@require_http_methods(["GET", "HEAD", "POST"])
def time_zone(request: HttpRequest) -> HttpResponse:
    """Show the choice of a time zone; a POST keeps it, and returns to the page `next`."""
    if request.method != "POST":
        context = {"zones": _by_continent(), "zone": get_current_timezone_name(), "next": request.GET.get("next", "")}
        return render(request, "pages/site/time_zone.html", context)
    page, chosen = request.POST.get("next", ""), request.POST.get("zone", "")
    own = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    response = HttpResponseRedirect(page if own else reverse("pages:home"))
    if zone_named(chosen):
        response.set_cookie(
            ZONE_COOKIE, chosen, max_age=_KEPT, secure=settings.SESSION_COOKIE_SECURE, httponly=True, samesite="Lax"
        )
    return response


def _by_continent() -> Mapping[str, list[tuple[str, str]]]:
    """Return the zones as name and place, by continent. UTC has none."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in sorted(ZONES - {"UTC"}):
        continent, _, place = name.partition("/")
        found.setdefault(continent, []).append((name, place.replace("_", " ").replace("/", ", ")))
    return found
