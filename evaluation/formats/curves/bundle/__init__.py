"""Result bundles of rounds of the curves format."""

from __future__ import annotations

NAME = "curves"
"""The format in the head of its bundles."""

VERSION = 2
"""The version of new bundles. Those of the first one name neither their round nor the seeds of their benchmarks."""
