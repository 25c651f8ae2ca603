"""Result bundles of rounds of the curves format."""

from __future__ import annotations

NAME = "curves"
"""The format in the head of its bundles."""
