"""The reader's choice of a language and of a time zone, each in a cookie."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import check_for_language
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from accounts.services import keep_language
from core.reader_locale import ZONE_COOKIE, ZONES, zone_named


@csrf_exempt  # a forged request could only change the language; with a token, each page would set a cookie
@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Keep the language of the reader, and return to the page `next`."""
    chosen = request.POST.get("language", "")
    response = _back(request)
    if chosen in dict(settings.LANGUAGES) and check_for_language(chosen):
        _keep(response, settings.LANGUAGE_COOKIE_NAME, chosen)
        if isinstance(request.user, User):
            keep_language(user=request.user, language=chosen)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
def time_zone(request: HttpRequest) -> HttpResponse:
    """Show the choice of a time zone; a POST keeps it, and returns to the page `next`."""
    if request.method != "POST":
        context = {"zones": _by_continent(), "zone": get_current_timezone_name(), "next": request.GET.get("next", "")}
        return render(request, "pages/site/time_zone.html", context)
    chosen = request.POST.get("zone", "")
    response = _back(request)
    if zone_named(chosen):
        _keep(response, ZONE_COOKIE, chosen)
    return response


def _by_continent() -> Mapping[str, list[tuple[str, str]]]:
    """Return the zones as name and place, by continent. UTC has none."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in sorted(ZONES - {"UTC"}):
        continent, _, place = name.partition("/")
        found.setdefault(continent, []).append((name, place.replace("_", " ").replace("/", ", ")))
    return found


def _back(request: HttpRequest) -> HttpResponse:
    """Return to the page `next` of this site, or to the home page."""
    page = request.POST.get("next", "")
    own = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    return HttpResponseRedirect(page if own else reverse("pages:home"))


def _keep(response: HttpResponse, cookie: str, value: str) -> None:
    response.set_cookie(
        cookie,
        value,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
        samesite="Lax",
    )
