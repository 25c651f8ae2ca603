"""Answers that programs ask for again and again: not sent again while they are unchanged."""

from __future__ import annotations

import hashlib

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import quote_etag

from competitions.models import Competition

SECONDS = 300
"""How long a program may keep an answer before it asks again."""


def conditional_answer(
    request: HttpRequest, competition: Competition, content: bytes, content_type: str
) -> HttpResponseBase:
    """Return `content` of a competition, or an empty answer where the request names its tag."""
    etag = quote_etag(hashlib.sha256(content).hexdigest()[:32])
    response = HttpResponse(content, content_type=content_type, headers={"ETag": etag})
    patch_cache_control(response, max_age=SECONDS, **{"public" if competition.public else "private": True})
    answer = get_conditional_response(request, etag=etag, response=response)
    return response if answer is None else answer
