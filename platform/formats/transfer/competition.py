"""The rules and tracks of the transfer format."""

from __future__ import annotations


class TransferCompetition:
    """See `competitions.formats.CompetitionFormat`."""
