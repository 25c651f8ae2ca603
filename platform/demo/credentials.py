"""Passwords and tokens that the demo keeps between two starts."""

from __future__ import annotations

import json
import secrets
from pathlib import Path


class CredentialStore:
    """A small JSON file, readable only by its owner."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stored: dict[str, dict[str, str]] = json.loads(path.read_text()) if path.exists() else {}

    def password_of(self, user: str) -> str:
        """Return the user's password, generated on the first call."""
        return self._stored.get(user, {}).get("password") or self._store(user, "password", secrets.token_urlsafe(9))

    def token_of(self, user: str) -> str | None:
        """Return the user's access token, None if there is none."""
        return self._stored.get(user, {}).get("token")

    def put_token(self, user: str, token: str) -> str:
        """Store the user's access token."""
        return self._store(user, "token", token)

    def _store(self, user: str, what: str, value: str) -> str:
        self._stored.setdefault(user, {})[what] = value
        self._path.touch(mode=0o600)
        self._path.write_text(json.dumps(self._stored, indent=1))
        return value
