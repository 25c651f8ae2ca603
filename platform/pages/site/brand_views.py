"""Logo, style sheet and picture of the brand."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from pages.site.brand import LOGO_TYPES
from pages.site.brand import logo as read_logo
from pages.site.brand import style as written_style

YEAR = 365 * 24 * 3600
"""The addresses in pages contain a hash of the content."""


@require_safe
@cache_control(public=True, max_age=YEAR)
def logo(request: HttpRequest) -> HttpResponse:
    """Return the operator's logo. Raise 404 if none is set."""
    if settings.SITE_LOGO is None:
        raise Http404("no logo is set")
    return HttpResponse(read_logo(), content_type=LOGO_TYPES[settings.SITE_LOGO.suffix.lower()])


@require_safe
@cache_control(public=True, max_age=YEAR)
def style(request: HttpRequest) -> HttpResponse:
    """Return the style sheet of the brand. Raise 404 if no colour is set."""
    if not settings.SITE_ACCENT:
        raise Http404("no colour is set")
    return HttpResponse(written_style(settings.SITE_ACCENT), content_type="text/css; charset=utf-8")
