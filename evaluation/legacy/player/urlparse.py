"""`urllib.parse` under its name in Python 2."""

from __future__ import annotations

from urllib.parse import parse_qs, parse_qsl, urldefrag, urljoin, urlparse, urlsplit, urlunparse, urlunsplit

__all__ = ["parse_qs", "parse_qsl", "urldefrag", "urljoin", "urlparse", "urlsplit", "urlunparse", "urlunsplit"]
