"""`urllib.request` under its name in Python 2. No player has a network."""

from __future__ import annotations

from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote
from urllib.request import Request, build_opener, install_opener, urlopen

__all__ = ["HTTPError", "Request", "URLError", "build_opener", "install_opener", "quote", "unquote", "urlopen"]
