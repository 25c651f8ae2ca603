"""The pages of the transfer format."""

from __future__ import annotations


class TransferPages:
    """See `pages.formats.PageFormat`."""
