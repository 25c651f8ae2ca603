"""Addresses for worker hosts that share no folder with the site: join it, and ask which site it is."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from core.errors import Refusal
from core.site_identity import identity
from workers.host_credentials import join, use_host_token

MAX_BODY_BYTES = 4096


@csrf_exempt
@require_POST
def join_site(request: HttpRequest) -> JsonResponse:
    """Answer `{"key": KEY}` with the settings of the host, once."""
    if not (request.is_secure() or settings.DEBUG or _is_loopback(request)):
        return _refused(
            Refusal("passwords are sent over TLS alone", fix="use the https:// address of the site"),
            HTTPStatus.FORBIDDEN,
        )
    try:
        given: Any = json.loads(request.read(MAX_BODY_BYTES))
        key = given["key"]
        if not isinstance(key, str):
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError):
        return _refused(Refusal("the body is not a JSON object with a key", fix="use: manage.py join"))
    try:
        shared = settings.HOST_SETTINGS()  # before the key is used up
        credential, token = join(key)
    except Refusal as refusal:
        return _refused(refusal)
    own = {"GAUNTLET_WORKER_NAME": credential.host, "GAUNTLET_HOST_TOKEN": token}
    return JsonResponse({"host": credential.host, "identity": identity(), "settings": shared | own})


@require_safe
def site_identity(request: HttpRequest) -> JsonResponse:
    """Tell a worker host the identity of this site, which is that of its database."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or use_host_token(token) is None:
        refusal = Refusal("the credential of this host is unknown or revoked", fix="let it join again: manage.py join")
        return _refused(refusal, HTTPStatus.UNAUTHORIZED)
    return JsonResponse({"identity": identity()})


def _is_loopback(request: HttpRequest) -> bool:
    return not settings.PROXIED and request.META.get("REMOTE_ADDR") in {"127.0.0.1", "::1"}


def _refused(refusal: Refusal, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> JsonResponse:
    return JsonResponse({"problem": refusal.problem, "fix": refusal.fix}, status=status)
