"""Well-known URLs: favicon, robots.txt and security.txt."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from core import clock
from core.times import for_programs

_CLOSED = ("/admin/", "/accounts/", "/account", "/api/", "/git/", "/submissions/*/log")
"""Paths that search engines should not read: forms, APIs and private pages."""

_CONTACT_HOLDS = timedelta(days=180)
"""RFC 9116 advises less than a year."""


@require_safe
@cache_control(max_age=3600)
def icon(request: HttpRequest) -> HttpResponse:
    """Redirect `/favicon.ico` to the static file."""
    return HttpResponseRedirect(static("img/favicon.ico"))


@require_safe
@cache_control(max_age=3600)
def robots(request: HttpRequest) -> HttpResponse:
    """Return `robots.txt`, which allows everything public."""
    lines = ["User-agent: *", *(f"Disallow: {address}" for address in _CLOSED)]
    return _text(lines)


@require_safe
@cache_control(max_age=3600)
def security(request: HttpRequest) -> HttpResponse:
    """Return `security.txt` with the security contact (RFC 9116). Raise 404 if the operator set none."""
    if not settings.SECURITY_CONTACT:
        raise Http404("no contact is named")
    expires = (clock.now() + _CONTACT_HOLDS).replace(hour=0, minute=0, second=0, microsecond=0)
    return _text(
        [
            f"Contact: {settings.SECURITY_CONTACT}",
            f"Expires: {for_programs(expires)}",
            "Preferred-Languages: en",
            f"Canonical: {request.build_absolute_uri(request.path)}",
        ]
    )


def _text(lines: list[str]) -> HttpResponse:
    return HttpResponse("\n".join([*lines, ""]), content_type="text/plain; charset=utf-8")
