"""Authentication by access token, and by the session of a browser."""

from __future__ import annotations

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from accounts.models import AccessToken, User
from accounts.services import SCOPE_MISSING, TokenRefusal, check_token
from api.described_error import DescribedError


class RefusedTokenError(DescribedError, AuthenticationFailed):
    """The token is unknown, revoked or expired, or of an account that is closed."""

    def __init__(self, refusal: TokenRefusal) -> None:
        super().__init__(refusal.problem)
        self.code, self.fix = refusal.code, refusal.fix


class MissingScopeError(DescribedError, PermissionDenied):
    """The token is valid, but not for this request."""

    def __init__(self, refusal: TokenRefusal) -> None:
        super().__init__(refusal.problem)
        self.code, self.fix = refusal.code, refusal.fix


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer gtl_...`. Read requests need the scope `read`, all others `submit` or `organise`."""

    def authenticate(self, request: Request) -> tuple[User, AccessToken] | None:
        """Return the owner and the token, None without a token. Raise the error of an invalid one."""
        scheme, _, plain = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        scope = AccessToken.Scope.READ if request.method in SAFE_METHODS else _scope_of_changes(request)
        try:
            token = check_token(plain.strip(), scope.value)
        except TokenRefusal as refusal:
            if refusal.code == SCOPE_MISSING:
                raise MissingScopeError(refusal) from refusal
            raise RefusedTokenError(refusal) from refusal
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Return the authentication scheme named in a 401 response."""
        return "Bearer"


def _scope_of_changes(request: Request) -> AccessToken.Scope:
    """Return what a token needs for a request that changes something: the view says it, see `api.base_views`."""
    view = (request.parser_context or {}).get("view")
    return getattr(view, "scope_of_changes", AccessToken.Scope.SUBMIT)
