"""Error responses of the API: {"problem": ..., "fix": ..., "accepted_from": a time or null}."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.http import Http404
from rest_framework import status
from rest_framework.exceptions import (
    APIException,
    AuthenticationFailed,
    NotAuthenticated,
    NotFound,
    ParseError,
    PermissionDenied,
    Throttled,
    ValidationError,
)
from rest_framework.response import Response
from rest_framework.views import exception_handler

from core import clock, platform_error_report
from core.errors import Fault, Refusal, RefusedForNow

log = logging.getLogger(__name__)

_FIXES: dict[type[APIException], str] = {
    NotAuthenticated: "send the header Authorization: Bearer TOKEN with an access token",
    AuthenticationFailed: "create a token with this scope on your account page",
    PermissionDenied: "ask a member of the team",
    NotFound: "check the address; /api/competitions lists the competitions, /api/competitions/SLUG the tracks of one",
    ParseError: "send JSON",
    ValidationError: "correct the value and send the request again",
    Throttled: "wait, then send the request again",
}


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the response to `error`: 409 for `RefusedForNow`, 400 for other refusals, 503 for platform errors."""
    if isinstance(error, RefusedForNow):
        return _response(status.HTTP_409_CONFLICT, error.problem, error.fix, error.accepted_from)
    if isinstance(error, Refusal):
        return _response(status.HTTP_400_BAD_REQUEST, error.problem, error.fix)
    if isinstance(error, Fault):
        platform_error_report.report(log, error, "a request to the API failed")
        return _response(
            status.HTTP_503_SERVICE_UNAVAILABLE,
            "platform error",
            "wait a minute and check the team page before you try again",
        )
    if isinstance(error, Http404):  # its text is of Django, for developers
        error = NotFound("not found")
    response = exception_handler(error, context)
    if response is not None:
        fix = next((fix for error_class, fix in _FIXES.items() if isinstance(error, error_class)), "")
        wait = getattr(error, "wait", None)
        accepted_from = clock.now() + timedelta(seconds=wait) if wait else None
        response.data = _content("; ".join(_texts(response.data)), fix, accepted_from)
    return response


def _response(code: int, problem: str, fix: str, accepted_from: datetime | None = None) -> Response:
    return Response(_content(problem, fix, accepted_from), status=code)


def _content(problem: str, fix: str, accepted_from: datetime | None) -> dict[str, Any]:
    return {"problem": problem, "fix": fix, "accepted_from": accepted_from}


def _texts(data: Any, place: str = "") -> Iterator[str]:
    if isinstance(data, dict):
        for name, inner in data.items():
            yield from _texts(inner, "" if name in {"detail", "non_field_errors"} else f"{name}: ")
    elif isinstance(data, list):
        for inner in data:
            yield from _texts(inner, place)
    else:
        yield f"{place}{data}"
