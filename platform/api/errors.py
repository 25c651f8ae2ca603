"""Error responses of the API: problem documents, see `core.problem_details`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from django.http import Http404
from rest_framework import status
from rest_framework.exceptions import (
    APIException,
    AuthenticationFailed,
    MethodNotAllowed,
    NotAuthenticated,
    NotFound,
    ParseError,
    PermissionDenied,
    Throttled,
    UnsupportedMediaType,
    ValidationError,
)
from rest_framework.response import Response
from rest_framework.views import exception_handler

from api.described_error import DescribedError
from core import clock, platform_error_report
from core.errors import Fault, Refusal, RefusedForNow, RefusedInState
from core.problem_details import CONTENT_TYPE, problem_details

log = logging.getLogger(__name__)

REJECTED, REJECTED_FOR_NOW, WRONG_STATE = "rejected", "rejected-for-now", "wrong-state"
PLATFORM_ERROR = "platform-error"
RETRY_SECONDS = 60
"""When to try again after a platform error."""

KINDS: dict[type[APIException], tuple[str, str]] = {
    NotAuthenticated: ("unauthenticated", "send the header Authorization: Bearer TOKEN with an access token"),
    AuthenticationFailed: ("unauthenticated", "sign in again, or send an access token of your account page"),
    PermissionDenied: ("forbidden", "sign in with an account that may do this, or send one of its access tokens"),
    NotFound: (
        "not-found",
        "check the address; /api/v1/competitions lists the competitions, /api/v1/competitions/SLUG the tracks of one",
    ),
    MethodNotAllowed: ("method-not-allowed", "use a method that the header Allow names"),
    UnsupportedMediaType: (
        "unsupported-media-type",
        "send JSON with the header Content-Type: application/json, an archive with application/octet-stream",
    ),
    ParseError: ("invalid", "send JSON"),
    ValidationError: ("invalid", "correct the value and send the request again"),
    Throttled: ("throttled", "wait as long as the header Retry-After says, then send the request again"),
}
"""The code of each kind of error, and what to do about it."""


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the response to `error`: 409 for refusals of now, 400 for other refusals, 503 for platform errors."""
    if isinstance(error, RefusedForNow):
        return _response(status.HTTP_409_CONFLICT, REJECTED_FOR_NOW, error.problem, error.fix, error.accepted_from)
    if isinstance(error, RefusedInState):
        found = _response(status.HTTP_409_CONFLICT, WRONG_STATE, error.problem, error.fix)
        found.data["state"] = error.state
        return found
    if isinstance(error, Refusal):
        return _response(status.HTTP_400_BAD_REQUEST, REJECTED, error.problem, error.fix)
    if isinstance(error, Fault):
        platform_error_report.report(log, error, "a request to the API failed")
        fix = "wait a minute and check the team page before you try again"
        found = _response(status.HTTP_503_SERVICE_UNAVAILABLE, PLATFORM_ERROR, "platform error", fix)
        found.headers["Retry-After"] = str(RETRY_SECONDS)
        return found
    if isinstance(error, Http404):  # its text is of Django, for developers
        error = NotFound("not found")
    response = exception_handler(error, context)
    if response is None:
        return None
    wait = getattr(error, "wait", None)
    accepted_from = clock.now() + timedelta(seconds=wait) if wait else None
    # a name in a body may have half of a surrogate pair, which cannot be sent
    detail = "; ".join(_texts(response.data)).encode("utf-8", "replace").decode()
    response.data = problem_details(response.status_code, *_kind(error, detail), accepted_from)
    response.content_type = CONTENT_TYPE
    return response


def _kind(error: Exception, detail: str) -> tuple[str, str, str]:
    """Return the code of an error, its text, and what to do about it."""
    if isinstance(error, DescribedError):
        return error.code, detail, error.fix
    code, fix = next((kind for error_class, kind in KINDS.items() if isinstance(error, error_class)), ("invalid", ""))
    return code, detail, fix


def _response(code: int, kind: str, problem: str, fix: str, accepted_from: datetime | None = None) -> Response:
    content = problem_details(code, kind, problem, fix, accepted_from)
    response = Response(content, status=code, content_type=CONTENT_TYPE)
    if accepted_from is not None:
        response.headers["Retry-After"] = str(max(1, ceil((accepted_from - clock.now()).total_seconds())))
    return response


def _texts(data: Any, place: str = "") -> Iterator[str]:
    if isinstance(data, dict):
        for name, inner in data.items():
            yield from _texts(inner, "" if name in {"detail", "non_field_errors"} else f"{name}: ")
    elif isinstance(data, list):
        for inner in data:
            yield from _texts(inner, place)
    else:
        yield f"{place}{data}"
