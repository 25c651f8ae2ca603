"""Live parts of a page: htmx requests them again and gets an empty answer if nothing changed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

NOTHING_NEW = 204

_CHOICES = ("page", "attempt", "sort", "q", "show")
"""Parameters of an address that choose what a live part shows."""

_AGE = re.compile(r"(<time [^>]*data-ago[^>]*>)[^<]*")
"""A time as how long ago it is. A script of the page updates it, so it is no change."""


@dataclass(frozen=True)
class LivePart:
    """HTML in a frame that polls, and a digest of the content."""

    html: SafeString
    digest: str


def live_part(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    every: int | None,
    known: Mapping[str, str] | None = None,
) -> LivePart:
    """Render `template` in a frame that polls every `every` seconds, or never if that is None.

    `known` is what the rest of the page shows; each request sends it back. The template must not contain a form,
    because its CSRF token differs each time.
    """
    inner = SafeString(render_to_string(template, dict(context), request))
    content = _AGE.sub(r"\1", inner)
    digest = hashlib.sha256(f"{every} {content}".encode()).hexdigest()[:16]
    if every is None:
        return LivePart(format_html("<div>{}</div>", inner), digest)
    values = {name: request.GET[name] for name in _CHOICES if name in request.GET}
    frame = '<div data-live hx-get="{}?{}" hx-trigger="every {}s" hx-swap="outerHTML">{}</div>'
    query = urlencode(values | dict(known or {}) | {"seen": digest})
    return LivePart(format_html(frame, request.path, query, every, inner), digest)


def is_poll(request: HttpRequest) -> bool:
    """Return whether htmx requests only the live part of a page."""
    return "HX-Request" in request.headers and "seen" in request.GET


def answer(request: HttpRequest, live: LivePart, extra: SafeString | None = None) -> HttpResponse:
    """Return the live part and `extra`, or an empty 204 if the browser has this content already."""
    if request.GET["seen"] == live.digest:
        return HttpResponse(status=NOTHING_NEW)
    return HttpResponse(live.html + (extra or SafeString()))
