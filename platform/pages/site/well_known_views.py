"""Well-known URLs: favicon, robots.txt, sitemap.xml and security.txt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain, islice

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import escape
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from accounts.models import Team
from competitions.models import Page, TermsVersion, Track
from competitions.permissions import visible_competitions
from core import clock
from core.time_format import for_programs
from pages.manual.documents import documents
from rounds.models import Round

_CLOSED = ("/admin/", "/accounts/", "/account", "/api/", "/git/", "/submissions/*/log", "/time-zone")
"""Paths that search engines should not read: forms, APIs and private pages."""

_SITEMAP_LIMIT = 50_000
"""Most addresses that a sitemap may have."""

_CONTACT_HOLDS = timedelta(days=180)
"""RFC 9116 advises less than a year."""


@require_safe
@cache_control(max_age=3600)
def icon(request: HttpRequest) -> HttpResponse:
    """Redirect `/favicon.ico` to the static file, or to the operator's logo."""
    return HttpResponseRedirect(reverse("pages:logo") if settings.SITE_LOGO else static("img/favicon.ico"))


@require_safe
@cache_control(max_age=3600)
def robots(request: HttpRequest) -> HttpResponse:
    """Return `robots.txt`, which allows everything public and names the sitemap."""
    lines = ["User-agent: *", *(f"Disallow: {address}" for address in _CLOSED)]
    return _text([*lines, "", f"Sitemap: {request.build_absolute_uri(reverse('pages:sitemap'))}"])


@require_safe
@cache_control(max_age=3600)
def sitemap(request: HttpRequest) -> HttpResponse:
    """Return `sitemap.xml`: the pages of the site, its documents, public competitions, their rounds and teams."""
    here = request.build_absolute_uri("/").rstrip("/")
    paths = chain(_site_paths(), _competition_paths())
    lines = [f"<url><loc>{escape(here + path)}</loc></url>" for path in islice(paths, _SITEMAP_LIMIT)]
    text = "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
            *lines,
            "</urlset>",
            "",
        ]
    )
    return HttpResponse(text, content_type="application/xml; charset=utf-8")


def _site_paths() -> Iterator[str]:
    for name in ("home", "competitions", "leaderboards", "teams", "docs", "status"):
        yield reverse(f"pages:{name}")
    for document in documents().values():
        yield document.address
    for name in Page.objects.filter(competition=None).values_list("name", flat=True):
        yield reverse("pages:site_page", args=[name])


def _competition_paths() -> Iterator[str]:
    public = visible_competitions(AnonymousUser())
    for slug in public.order_by("-starts_at").values_list("slug", flat=True):
        yield reverse("pages:competition", args=[slug])
        for name in ("rules", "data", "news", "citation"):
            yield reverse(f"pages:{name}", args=[slug])
    for slug in (
        TermsVersion.objects.filter(competition__in=public).values_list("competition__slug", flat=True).distinct()
    ):
        yield reverse("pages:terms", args=[slug])
    for slug, name in Page.objects.filter(competition__in=public).values_list("competition__slug", "name"):
        yield reverse("pages:page", args=[slug, name])
    for slug, track in Track.objects.filter(competition__in=public).values_list("competition__slug", "name"):
        yield reverse("pages:board", args=[slug, track])
    for slug, number in Round.objects.filter(competition__in=public).values_list("competition__slug", "number"):
        yield reverse("pages:round", args=[slug, number])
    for slug in Team.objects.filter(entry__competition__in=public).values_list("slug", flat=True):
        yield reverse("pages:team", args=[slug])


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
