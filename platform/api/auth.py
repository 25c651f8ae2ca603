"""Who asks: a person's access token, or the session of their browser."""

from __future__ import annotations

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from accounts.models import AccessToken, User
from accounts.services import use_token


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer gtl_...`. Reading needs the scope `read`, everything else `submit`."""

    def authenticate(self, request: Request) -> tuple[User, AccessToken] | None:
        """The token's owner and the token; None without a token. Raises `AuthenticationFailed` for a bad one."""
        kind, _, plain = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer":
            return None
        scope = AccessToken.Scope.READ if request.method in SAFE_METHODS else AccessToken.Scope.SUBMIT
        token = use_token(plain.strip(), scope)
        if token is None:
            raise AuthenticationFailed(f"the token is unknown, expired or revoked, or its scopes lack {scope.value!r}")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """What a 401 names as the way in."""
        return "Bearer"
