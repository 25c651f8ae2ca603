"""Addresses with a NUL character: PostgreSQL compares no text with one, so they name nothing."""

from __future__ import annotations

from collections.abc import Callable

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase


def no_nul(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware that answers 404 to an address with a NUL character in its path or query."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        query = request.META.get("QUERY_STRING", "")
        if "\0" in request.path or "\0" in query or "%00" in query:
            raise Http404("no such page")
        return get_response(request)

    return middleware
