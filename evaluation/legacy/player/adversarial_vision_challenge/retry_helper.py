"""The error of a query that gets no answer, under its name of 2018."""

from __future__ import annotations


class RetriesExceededError(Exception):
    """The queries of the current sample are used up. 2018 slept for 18 seconds before it raised this."""
