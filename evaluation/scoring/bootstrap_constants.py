"""The constants of all bootstrap intervals."""

from __future__ import annotations

RESAMPLES = 2000
"""Number of bootstrap resamples behind an interval."""

CONFIDENCE = 0.95
