"""Parts of a page that follow what happens: htmx asks for them again, and gets nothing where nothing changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

NOTHING_NEW = 204


def part(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    every: int | None,
    known: Mapping[str, str] | None = None,
) -> SafeString:
    """`template` in a frame that asks for itself again `every` so many seconds; None: nothing will change any more.

    It tells what the page it stands on already shows by `known`.

    The template must not hold a form: its token differs each time.
    """
    inner = render_to_string(template, dict(context), request)
    if every is None:
        return format_html("<div>{}</div>", SafeString(inner))
    values = {name: request.GET[name] for name in ("page", "attempt") if name in request.GET}
    address = f"{request.path}?{urlencode(values | dict(known or {}) | {'seen': _digest(inner)})}"
    return format_html(
        '<div data-live hx-get="{}" hx-trigger="every {}s" hx-swap="outerHTML">{}</div>',
        address,
        every,
        SafeString(inner),
    )


def asked(request: HttpRequest) -> bool:
    """Whether htmx asks for the live part of a page, not a person for the page."""
    return "HX-Request" in request.headers and "seen" in request.GET


def answer(request: HttpRequest, framed: SafeString) -> HttpResponse:
    """The live part, or nothing where it is what was seen."""
    if f"seen={request.GET['seen']}&quot;" in framed or f'seen={request.GET["seen"]}"' in framed:
        return HttpResponse(status=NOTHING_NEW)
    return HttpResponse(framed)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
