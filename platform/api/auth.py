"""Authentication by access token."""

from __future__ import annotations

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from accounts.models import AccessToken, User
from accounts.services import use_token


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer gtl_...`. Read requests need the scope `read`, all others `submit`."""

    def authenticate(self, request: Request) -> tuple[User, AccessToken] | None:
        """Return the owner and the token, None without a token. Raise `AuthenticationFailed` for an invalid one."""
        scheme, _, plain = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        scope = AccessToken.Scope.READ if request.method in SAFE_METHODS else AccessToken.Scope.SUBMIT
        token = use_token(plain.strip(), scope)
        if token is None:
            raise AuthenticationFailed(f"the token is unknown, expired or revoked, or lacks the scope {scope.value!r}")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Return the authentication scheme named in a 401 response."""
        return "Bearer"
