"""Parser of the bodies of requests."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class LimitedJsonParser(JSONParser):
    """JSON, except where it is nested more deeply than Python can read: a bad request, not a platform error."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        """Return the value. Raise `ParseError` for what is no JSON, and for too deep a nesting."""
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError("JSON parse error - it is nested too deeply") from error
