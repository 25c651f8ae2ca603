"""Cache headers of responses that set none."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control


def private_pages(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware that keeps responses out of shared caches, and makes browsers ask again.

    They depend on who reads them, files too: many shared caches keep those that end in `.csv` for every reader.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if "Cache-Control" not in response.headers:
            patch_cache_control(response, private=True, no_cache=True)
        return response

    return middleware
