"""Error pages that need more than a template: platform errors, maintenance, and wrong methods."""

from __future__ import annotations

import sys
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views import defaults as default_views

from core.errors import Refusal
from core.missing_migrations_check import require_migrated
from core.problem_details import CONTENT_TYPE, problem_details
from pages.access import SubmissionHiddenError

RETRY_SECONDS = 60
PROGRAMS = ("/api/", "/git/")
"""Addresses below which programs read the answers."""


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a request that raised an exception: 503 while a service is away or migrations are missing, otherwise 500.

    The pages need no database. Without the cache people cannot sign in, since nobody counts their attempts.
    """
    problem = sys.exception()
    if _is_of_redis(problem) or (isinstance(problem, Error) and _is_unavailable()):
        response = answer(
            request, HTTPStatus.SERVICE_UNAVAILABLE, "the site is being maintained", "wait a minute, then try again"
        )
        response.headers["Retry-After"] = str(RETRY_SECONDS)
        return response
    return answer(request, HTTPStatus.INTERNAL_SERVER_ERROR, "platform error", "try again; the error was logged")


def _is_of_redis(problem: BaseException | None) -> bool:
    """Return whether the client of Redis raised it. To import that here would load OpenTelemetry into each process."""
    redis = sys.modules.get("redis")
    return redis is not None and isinstance(problem, redis.RedisError)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an address that names nothing."""
    if request.path.startswith("/api/"):
        content = problem_details(HTTPStatus.NOT_FOUND, "not-found", "not found", "check the address")
        return JsonResponse(content, status=HTTPStatus.NOT_FOUND, content_type=CONTENT_TYPE)
    if isinstance(exception, SubmissionHiddenError):
        return missing_page(request, str(exception))
    return default_views.page_not_found(request, exception)


def explain_wrong_method(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware that gives people a page in place of an empty answer 405."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        empty = response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not response.streaming
        if not empty or request.path.startswith(PROGRAMS) or not request.accepts("text/html"):
            return response
        page = render(request, "405.html", status=HTTPStatus.METHOD_NOT_ALLOWED)
        page.headers["Allow"] = response.headers.get("Allow", "")
        return page

    return middleware


def missing_page(request: HttpRequest, explanation: str) -> HttpResponse:
    """Answer 404 with a text that says why a page that others have is missing here."""
    return render(request, "404.html", {"explanation": explanation}, status=HTTPStatus.NOT_FOUND)


def _is_unavailable() -> bool:
    try:
        require_migrated()
    except Refusal:
        connection.close()  # the next request would use the same broken connection
        return True
    return False


def answer(
    request: HttpRequest, status: HTTPStatus, problem: str, fix: str, code: str = "platform-error"
) -> HttpResponse:
    """Return a page of an error that needs no database, or what programs read at this address."""
    if request.path.startswith("/api/"):
        content = problem_details(status, code, problem, fix)
        return JsonResponse(content, status=status, content_type=CONTENT_TYPE)
    if request.path.startswith("/git/"):
        return HttpResponse(f"Gauntlet: {problem}; {fix}\n", content_type="text/plain; charset=utf-8", status=status)
    return HttpResponse(render_to_string(f"{status}.html", {"site_name": settings.SITE_NAME}), status=status)
