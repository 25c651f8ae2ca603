"""Compression of pages and JSON without secrets.

BREACH (2013) derives a secret from the compressed lengths of many responses that contain it next to text chosen by the
attacker. The defences are: Django masks the CSRF token differently in each response and adds random padding to
compressed responses; browsers do not send the session cookie with background requests of other sites; and responses
marked `no-store`, such as the one that shows an access token, are not compressed. The admin marks all of its pages so,
and some show a key each time they are opened; large ones that show none say that they are `compressed`.
"""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

COMPRESSED = ("text/html", "text/plain", "text/css", "application/json", "application/xml", "application/atom+xml")


class CompressPages(GZipMiddleware):
    """Compression of text responses, except streams (git, logs, downloads), which are already packed or large."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Return the response, compressed if the client accepts it and it contains no secret."""
        secret = "no-store" in response.headers.get("Cache-Control", "") and not _is_compressed_in_admin(request)
        text = response.headers.get("Content-Type", "").startswith(COMPRESSED)
        if response.streaming or not text or secret:
            return response
        return super().process_response(request, response)


def _is_compressed_in_admin(request: HttpRequest) -> bool:
    match = request.resolver_match
    if match is None or "admin" not in match.namespaces:
        return False
    return match.url_name == "index" or getattr(getattr(match.func, "model_admin", None), "compressed", False)
