"""Lists of the API: `results`, and the addresses of the `next` and the `previous` page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

from api.query_parameters import whole_number

_KEY = re.compile("[0-9]{1,18}")


class NewestFirst(CursorPagination):
    """Pages behind a cursor, so that none repeats or misses a row while others are added."""

    ordering = "-pk"
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200

    def get_page_size(self, request: Request) -> int:
        """Return the number of rows of a page. Raise 400 for another text than a whole number."""
        return min(whole_number(request, "page_size", default=self.page_size, least=1), self.max_page_size)

    def decode_cursor(self, request: Request) -> Any:
        """Return the place in the list where the page begins. Raise 400 for a text that is none."""
        try:
            cursor = super().decode_cursor(request)
        except NotFound as error:
            raise _wrong_cursor() from error
        position = cursor and cursor.position  # the library does not look at it: it is a key
        if position is not None and not _KEY.fullmatch(str(position)):
            raise _wrong_cursor()
        return cursor

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of a page: without a neighbour its address is null."""
        address = {"type": ["string", "null"], "format": "uri", "description": "The address of this page, or null."}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": address, "previous": address, "results": schema},
        }


def _wrong_cursor() -> ValidationError:
    return ValidationError({"cursor": "use the address of `next` or `previous` as it was sent"})


def whole_list(rows: Iterable[Any]) -> Response:
    """Return a short list as its only page."""
    return Response({"next": None, "previous": None, "results": rows})


class WholeListSerializer(serializers.Serializer[Any]):
    """A short list, which is its only page."""

    next = serializers.CharField(allow_null=True, help_text="The address of the next page; here always null.")
    previous = serializers.CharField(allow_null=True)


def list_of(row: type[serializers.BaseSerializer[Any]]) -> type[WholeListSerializer]:
    """Return the serializer of a list that `whole_list` answers with, for the OpenAPI document."""
    name = row.__name__.removesuffix("Serializer")
    return type(f"{name}ListSerializer", (WholeListSerializer,), {"results": row(many=True)})
