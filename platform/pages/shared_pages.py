"""Pages that readers share: each is made once for each state of the tables that it shows, and then read from the cache.

A page is kept with the versions of the tables that were read to make it (`core.table_versions`). It is shown only while
they are the same, which takes one query: no view says what its page depends on, and a change shows with its commit. The
versions are read before the page is made. One that was made during a change is therefore kept under the versions before
it, for which nobody asks after the change.

Kept is what people without a session see, and for each person who is signed in that a poll brought nothing new. It is
kept until the minute ends, because some text depends on the time alone: ages, and planned moments that pass.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from functools import wraps
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec

from django.apps import apps
from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.timezone import get_current_timezone_name

from accounts.models import User
from core import clock, optional_cache
from core.table_versions import versions, watched_tables
from pages import polling

P = ParamSpec("P")

_MINUTE = 60

WAIT_SECONDS = 2.0
"""How long a request waits for another one that makes the same page."""

_STEP_SECONDS = 0.05
_MAKING_SECONDS = 20
"""Time after which a page counts as no longer in the making: its process may have ended."""

_WORD = re.compile(r"\w+")
_ACCEPTS_GZIP = re.compile(r"\bgzip\b")


def shared(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Decorator of a view whose answer depends on the address, the reader, the time and the database alone."""

    @wraps(view)
    def answer(request: HttpRequest, /, *args: P.args, **named: P.kwargs) -> HttpResponseBase:
        reader = _reader(request)
        if reader is None:
            return view(request, *args, **named)
        key = _key(request, reader)
        making, give_up = f"{key}:making", time.monotonic() + WAIT_SECONDS
        while (kept := _kept(key, now := versions())) is None:
            own = optional_cache.add(making, 1, _MAKING_SECONDS)
            if own or time.monotonic() > give_up:
                try:
                    return _make(request, key, now, lambda: view(request, *args, **named))
                finally:
                    if own:
                        optional_cache.remove(making)
            _wait_while(making, give_up)
        response = _answer(request, kept)
        vars(response)["was_kept"] = True
        return response

    return answer


def was_kept(response: HttpResponseBase) -> bool:
    """Return whether an answer was made by an earlier request."""
    return "was_kept" in vars(response)


def _reader(request: HttpRequest) -> str | None:
    """Return for whom the answer is: "" for everybody without a session, None where it is not shared."""
    if settings.SESSION_COOKIE_NAME in request.COOKIES:
        return str(request.user.pk) if request.user.is_authenticated and polling.is_poll(request) else None
    return None if CookieStorage.cookie_name in request.COOKIES else ""


def _key(request: HttpRequest, reader: str) -> str:
    """Return the key in the cache of the answer to a request."""
    parts = (
        reader,
        request.scheme,
        request.get_host(),
        request.get_full_path(),
        request.headers.get("HX-Request", ""),
        get_current_timezone_name(),
    )
    return f"page:{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}"


def _kept(key: str, now: Mapping[str, int]) -> Mapping[str, Any] | None:
    """Return what is kept under `key`, if it is of this minute and its tables still have the same versions `now`."""
    found: Mapping[str, Any] | None = optional_cache.get(key)
    if found is None or found["minute"] != _minute():
        return None
    return found if all(now.get(table, 0) == version for table, version in found["versions"].items()) else None


def _minute() -> int:
    return int(clock.now().timestamp()) // _MINUTE


def _wait_while(making: str, give_up: float) -> None:
    """Wait while another request makes a page, for all that wait for it."""
    while time.monotonic() <= give_up and optional_cache.get(making) is not None:
        time.sleep(_STEP_SECONDS)


def _make(request: HttpRequest, key: str, now: Mapping[str, int], view: Callable[[], HttpResponse]) -> HttpResponseBase:
    """Return the answer of a view, and keep it under the versions `now` if others may get it."""
    minute = _minute()
    tables = {User._meta.db_table} if request.user.is_authenticated else set()  # read before this
    with connection.execute_wrapper(_note_tables(tables)):
        response = view()
    if not _can_be_shared(request, response) or not tables <= watched_tables():
        return response
    content = response.content
    kept = {
        "minute": minute,
        "versions": {table: now.get(table, 0) for table in tables},
        "status": response.status_code,
        "headers": dict(response.headers),
        "tag": f'W/"{hashlib.sha256(content).hexdigest()[:32]}"',
        "content": base64.b64encode(gzip.compress(content, mtime=0)).decode(),
    }
    optional_cache.put(key, kept, _MINUTE)
    return _answer(request, kept)


def _note_tables(tables: set[str]) -> Callable[..., Any]:
    """Return a wrapper of queries that adds the tables that they name to `tables`."""
    known = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Mapping[str, Any]) -> Any:
        tables.update(known.intersection(_WORD.findall(sql)))
        return execute(sql, params, many, context)

    return note


def _can_be_shared(request: HttpRequest, response: HttpResponse) -> bool:
    """Return whether others who ask for the same may get the answer: it holds nothing of this request alone."""
    statuses = {polling.NOTHING_NEW} if request.user.is_authenticated else {HTTPStatus.OK, polling.NOTHING_NEW}
    # a token of a form, and the nonce of a script
    own = "CSRF_COOKIE_NEEDS_UPDATE" in request.META or hasattr(request, "_csp_nonce")
    return response.status_code in statuses and not response.streaming and not response.cookies and not own


def _answer(request: HttpRequest, kept: Mapping[str, Any]) -> HttpResponseBase:
    """Return what is kept, compressed where the reader takes it; without content if the reader has it already."""
    packed = base64.b64decode(kept["content"])
    compressed = kept["status"] == HTTPStatus.OK and _ACCEPTS_GZIP.search(request.headers.get("Accept-Encoding", ""))
    response = HttpResponse(
        packed if compressed else gzip.decompress(packed), status=kept["status"], headers=kept["headers"]
    )
    if compressed:
        response.headers["Content-Encoding"] = "gzip"
    patch_vary_headers(response, ("Cookie", "Accept-Encoding", "HX-Request"))
    if kept["status"] != HTTPStatus.OK:
        return response
    response.headers["ETag"] = kept["tag"]
    return get_conditional_response(request, etag=kept["tag"], response=response) or response
