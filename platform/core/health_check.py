"""Health check `/healthz` for proxies and monitoring."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

ADDRESS = "/healthz"

log = logging.getLogger(__name__)


def health(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware for the health check. It comes first, so it needs no host name, TLS or login."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path_info != ADDRESS:
            return get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        healthy = _reaches_database()
        text = "ok\n" if healthy else "the database cannot be reached\n"
        return HttpResponse(
            text,
            status=HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE,
            content_type="text/plain; charset=utf-8",
            headers={"Cache-Control": "no-store", "Content-Length": str(len(text))},
        )

    return middleware


def _reaches_database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        log.warning("the database cannot be reached", exc_info=True)
        connection.close()  # the next check would use the same broken connection
        return False
    return True
