"""The answers of the API in the transfer format."""

from __future__ import annotations


class TransferApi:
    """See `api.formats.ApiFormat`."""
