"""Content-Security-Policy of the admin.

The admin theme uses Alpine, which evaluates expressions in attributes, and inline styles. Both are allowed only below
the admin's address.
"""

from __future__ import annotations

from collections.abc import Callable

from csp.constants import NONCE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

ADMIN_DIRECTIVES = {"script-src": [SELF, NONCE, UNSAFE_EVAL], "style-src": [SELF, UNSAFE_INLINE]}


def admin_policy(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that sets the admin policy. It comes after `CSPMiddleware` in the settings."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if request.path_info.startswith(reverse("admin:index")):
            vars(response)["_csp_replace"] = ADMIN_DIRECTIVES
        return response

    return middleware
