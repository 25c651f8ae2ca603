"""Limit of the bodies that people send: forms are small, and a body is stored before a form is checked."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from pages.site.error_views import answer

MOST_BYTES = 4 << 20
"""The most bytes of a body, except from staff, who upload data sets, and to views with `limits_its_body`."""


class BodyLimit:
    """Middleware that refuses a large body before anything reads or stores it. It stands before that of CSRF tokens."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], arguments: Any, named: Any
    ) -> HttpResponseBase | None:
        """Return the answer 413, or None to go on."""
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isdecimal() and int(length) <= MOST_BYTES:
            return None
        if getattr(getattr(view, "view_class", view), "limits_its_body", False) or request.user.is_staff:
            return None
        problem = f"the request has more than {MOST_BYTES >> 20} MiB"
        return answer(request, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, problem, "send less at a time", code="invalid")


def limits_its_body(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Decorator of a view that checks the length of a body before it reads it."""
    view.limits_its_body = True  # type: ignore[attr-defined]
    return view
