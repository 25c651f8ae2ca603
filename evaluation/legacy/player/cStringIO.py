"""`StringIO` under the name of its faster form in Python 2."""

from __future__ import annotations

from StringIO import StringIO

__all__ = ["StringIO"]
