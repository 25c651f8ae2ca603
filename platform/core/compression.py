"""Which answers are compressed: pages and JSON that hold no secret.

BREACH (2013) reads a secret from the compressed lengths of many answers that hold it beside text of the attacker's.
Against it stands: Django masks the CSRF token anew in each answer and pads each compressed answer with a random number
of bytes; browsers send the session's cookie with no request that another site makes in the background; and an answer
marked `no-store`, as the one that shows an access token, is not compressed.
"""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

COMPRESSED = ("text/html", "text/plain", "application/json")


class CompressPages(GZipMiddleware):
    """Compresses whole answers of text. Streams (git, logs, downloads) pass as they are: they are packed, or large."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """The answer, compressed where the client takes it and nothing in it is secret."""
        text = response.headers.get("Content-Type", "").startswith(COMPRESSED)
        if response.streaming or not text or "no-store" in response.headers.get("Cache-Control", ""):
            return response
        return super().process_response(request, response)
