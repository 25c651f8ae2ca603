"""Content negotiation: every answer is JSON, whatever a request accepts."""

from __future__ import annotations

from collections.abc import Iterable

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class AlwaysJson(BaseContentNegotiation):
    """Takes the first renderer and parser of a view; a body of another type is refused by its media type."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """Return the parser of JSON; None for a body that says that it is something else."""
        content_type = (request.content_type or "").split(";")[0].strip()
        return next((parser for parser in parsers if content_type in {"", parser.media_type}), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the renderer of JSON."""
        first = next(iter(renderers))
        return first, str(first.media_type)
