"""Where the API is on the site."""

from __future__ import annotations

PREFIX = "/api/v1/"
