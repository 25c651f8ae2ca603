"""Problem documents (RFC 9457): the form of every error of the API."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Any

CONTENT_TYPE = "application/problem+json"

_DESCRIBED_AT = "/docs/api#"
"""The page of the manual that has a heading for each code."""


def problem_details(
    status: int, code: str, detail: str, fix: str, accepted_from: datetime | None = None
) -> dict[str, Any]:
    """Return the members of a problem document.

    `code` names the kind of problem for programs, `detail` the cause and `fix` what to do, for people. The same request
    is accepted from `accepted_from` on, if that is known.
    """
    return {
        "type": f"{_DESCRIBED_AT}{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        "fix": fix,
        "accepted_from": accepted_from,
    }
