"""The pages of the query format."""

from __future__ import annotations


class QueryPages:
    """See `pages.formats.PageFormat`."""
