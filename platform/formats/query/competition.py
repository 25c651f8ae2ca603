"""The rules and tracks of the query format."""

from __future__ import annotations


class QueryCompetition:
    """See `competitions.formats.CompetitionFormat`."""
