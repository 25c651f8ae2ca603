"""Errors that say themselves what they are; without imports of views, since authentication has some."""

from __future__ import annotations


class DescribedError:
    """An error that has its own code, and its own text on what to do."""

    code: str
    fix: str
