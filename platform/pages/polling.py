"""Parts of a page that follow what happens: htmx asks for them again, and gets nothing where nothing changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

NOTHING_NEW = 204


@dataclass(frozen=True)
class Part:
    """A live part: its HTML in a frame that asks for it again, and a digest by which to tell that it changed."""

    html: SafeString
    digest: str


def part(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    every: int | None,
    known: Mapping[str, str] | None = None,
) -> Part:
    """`template`, asked for again `every` so many seconds; None: nothing will change any more.

    `known` is what the page around it shows, and comes back with each request. The template must not hold a form: its
    token differs each time.
    """
    inner = SafeString(render_to_string(template, dict(context), request))
    digest = hashlib.sha256(f"{every} {inner}".encode()).hexdigest()[:16]
    if every is None:
        return Part(format_html("<div>{}</div>", inner), digest)
    values = {name: request.GET[name] for name in ("page", "attempt") if name in request.GET}
    frame = '<div data-live hx-get="{}?{}" hx-trigger="every {}s" hx-swap="outerHTML">{}</div>'
    query = urlencode(values | dict(known or {}) | {"seen": digest})
    return Part(format_html(frame, request.path, query, every, inner), digest)


def asked(request: HttpRequest) -> bool:
    """Whether htmx asks for the live part of a page, not a person for the page."""
    return "HX-Request" in request.headers and "seen" in request.GET


def answer(request: HttpRequest, live: Part, said: SafeString | None = None) -> HttpResponse:
    """The live part with what is `said` beside it, or nothing where it is what was seen."""
    if request.GET["seen"] == live.digest:
        return HttpResponse(status=NOTHING_NEW)
    return HttpResponse(live.html + (said or SafeString()))
