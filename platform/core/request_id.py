"""Request ids: in every log line of a web request, and in the response header `X-Request-ID`."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from core.log_formatters import log_ids

HEADER = "X-Request-ID"

_SAFE = re.compile(r"[A-Za-z0-9._-]{8,64}")
_Block = TypeVar("_Block")


def request_id(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware that sets the request id. It must come first."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        given = _id_of(request)
        with log_ids(request=given):
            response = get_response(request)
        response.headers[HEADER] = given
        # the server sends files itself, and nothing is logged meanwhile
        if isinstance(response, StreamingHttpResponse) and getattr(response, "file_to_stream", None) is None:
            response.streaming_content = _within(iter(response), given)
        return response

    return middleware


def _id_of(request: HttpRequest) -> str:
    """Return the id from the nearest trusted proxy if its format is safe, else a new one."""
    named = request.headers.get(HEADER, "") if settings.PROXIED else ""
    return named if _SAFE.fullmatch(named) else uuid.uuid4().hex


def _within(blocks: Iterator[_Block], given: str) -> Iterator[_Block]:
    """Yield `blocks`, each produced with the id in the log. Between two blocks the thread may serve other requests."""
    while True:
        with log_ids(request=given):
            try:
                block = next(blocks)
            except StopIteration:
                return
        yield block
