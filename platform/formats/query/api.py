"""The answers of the API in the query format."""

from __future__ import annotations


class QueryApi:
    """See `api.formats.ApiFormat`."""
