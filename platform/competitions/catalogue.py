"""Adapter: the bundled submissions, as names for tracks."""

from __future__ import annotations

from evaluation.baselines.catalogue import baselines


def bundled(kind: str) -> tuple[str, ...]:
    """Names of the bundled submissions to the track `kind`."""
    return tuple(baseline.name for baseline in baselines() if baseline.track == kind)
