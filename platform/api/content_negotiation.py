"""Content negotiation: an answer is JSON whatever a request accepts, unless that asks for a table as CSV."""

from __future__ import annotations

from collections.abc import Iterable

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class JsonOrCsv(BaseContentNegotiation):
    """Takes the renderer of JSON, or the one that the request names, and the parser of the body's media type."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """Return the parser of a body; None for a body that says that it is something else."""
        content_type = (request.content_type or "").split(";")[0].strip()
        return next((parser for parser in parsers if content_type in {"", parser.media_type}), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the renderer whose media type the request names alone, else that of JSON."""
        accepted = request.headers.get("Accept", "").partition(";")[0].strip().lower()
        first, *others = renderers
        chosen = next((each for each in others if each.media_type == accepted), first)
        return chosen, str(chosen.media_type)
