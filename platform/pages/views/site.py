"""Small addresses that every site has: its icon, and what robots and finders of weaknesses look for."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from core import clock

_CLOSED = ("/admin/", "/accounts/", "/account", "/api/", "/git/", "/submissions/*/log")
"""What has nothing for a search engine: forms, programs' addresses, what only members see."""

_CONTACT_HOLDS = timedelta(days=180)
"""RFC 9116 advises less than a year."""


@require_safe
@cache_control(max_age=3600)
def icon(request: HttpRequest) -> HttpResponse:
    """Where `favicon.ico` lies, for those that ask without reading a page."""
    return HttpResponseRedirect(static("img/favicon.ico"))


@require_safe
@cache_control(max_age=3600)
def robots(request: HttpRequest) -> HttpResponse:
    """What search engines may read: all that is public."""
    lines = ["User-agent: *", *(f"Disallow: {address}" for address in _CLOSED)]
    return _text(lines)


@require_safe
@cache_control(max_age=3600)
def security(request: HttpRequest) -> HttpResponse:
    """Whom to tell of a weakness (RFC 9116); 404 where the operator named nobody."""
    if not settings.SECURITY_CONTACT:
        raise Http404("no contact is named")
    expires = (clock.now() + _CONTACT_HOLDS).replace(hour=0, minute=0, second=0, microsecond=0)
    return _text(
        [
            f"Contact: {settings.SECURITY_CONTACT}",
            f"Expires: {expires:%Y-%m-%dT%H:%M:%SZ}",
            "Preferred-Languages: en",
            f"Canonical: {request.build_absolute_uri(request.path)}",
        ]
    )


def _text(lines: list[str]) -> HttpResponse:
    return HttpResponse("\n".join([*lines, ""]), content_type="text/plain; charset=utf-8")
