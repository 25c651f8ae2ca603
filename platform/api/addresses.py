"""Where the API is."""

from __future__ import annotations

VERSION = "/api/v1/"
