"""How often a person may upload proofs, by the page and by the API together."""

from __future__ import annotations

from datetime import timedelta

from rest_framework.request import Request
from rest_framework.views import APIView

from api.throttles import PersonThrottle
from core import clock
from core.errors import RefusedForNow

UPLOADS_AN_HOUR = 30


class UploadThrottle(PersonThrottle):
    """Uploads of one person, refused ones included: each starts a process that reads it."""

    scope = "proofs"
    rate = f"{UPLOADS_AN_HOUR}/hour"


def count_upload(request: Request) -> None:
    """Count an upload of the person of the request. Raise `RefusedForNow` for one too many."""
    throttle = UploadThrottle()
    if not throttle.allow_request(request, APIView()):
        seconds = throttle.wait() or 60.0
        raise RefusedForNow(
            f"you uploaded {UPLOADS_AN_HOUR} proofs within an hour",
            accepted_from=clock.now() + timedelta(seconds=seconds),
            fix="put more images into one upload",
        )
