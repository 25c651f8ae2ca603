"""Limit of what one network address may ask of the pages without signing in: a few readers cannot use up the site.

Requests have weights, because a page that other readers share costs little. What is over the limit waits for the next
minute. People who are signed in have no such limit; the sign-in itself, the API and git have limits of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string

from core import clock, optional_cache
from core.picture_answers import shows_a_sample
from pages.shared_pages import was_kept

CHEAP, MADE, EXPENSIVE = 1, 4, 20
"""Weights of a page from the cache or a picture of a sample, of another page, and of a search or a past leaderboard."""

_EXPENSIVE = ("at", "q")
"""Parameters of an address that make a page expensive."""

_NOT_COUNTED = ("/accounts/", "/api/", "/git/", "/hosts/", "/kit/", "/metrics")
"""Addresses with limits or a token of their own, and files that cost little."""

_PERIOD_SECONDS = 60


def limit_anonymous_requests(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware that answers 429 above the limit `ANONYMOUS_REQUESTS`. It needs to know who is signed in."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        most = settings.ANONYMOUS_REQUESTS
        if not most or request.path_info.startswith(_NOT_COUNTED) or request.user.is_authenticated:
            return get_response(request)
        period, second = divmod(int(clock.now().timestamp()), _PERIOD_SECONDS)
        key = f"requests:{_network(request)}:{period}"
        used = optional_cache.get(key)
        if used is None:
            optional_cache.add(key, 0, _PERIOD_SECONDS)
        elif used >= most:
            return _too_many(_PERIOD_SECONDS - second)
        response = get_response(request)
        optional_cache.increase(key, _weight(request, response))
        return response

    return middleware


def _network(request: HttpRequest) -> str:
    """Return the address of the reader, before the proxies of the site; of IPv6 the network, which one reader has."""
    passed = request.headers.get("X-Forwarded-For", "").split(",")[-settings.PROXIES :] if settings.PROXIES else []
    text = (passed[0].strip() if passed else "") or request.META.get("REMOTE_ADDR", "")
    try:
        address = ip_address(text)
    except ValueError:  # a proxy may send a name
        return text
    if address.version == 4:
        return str(address)
    mapped = address.ipv4_mapped
    return str(mapped or ip_network((address, 64), strict=False).network_address)


def _weight(request: HttpRequest, response: HttpResponseBase) -> int:
    if was_kept(response) or shows_a_sample(response):
        return CHEAP
    return EXPENSIVE if any(request.GET.get(name) for name in _EXPENSIVE) else MADE


def _too_many(seconds: int) -> HttpResponse:
    context = {"site_name": settings.SITE_NAME, "seconds": seconds}
    return HttpResponse(
        render_to_string("too_many_requests.html", context),
        status=HTTPStatus.TOO_MANY_REQUESTS,
        headers={"Retry-After": str(seconds), "Cache-Control": "no-store"},
    )
