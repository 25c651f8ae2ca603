"""Adapter: the bundled submissions, as names for tracks."""

from __future__ import annotations

from evaluation.baselines.catalogue import baselines

_FOR_ANY_IMAGES = frozenset({"boundary", "gaussian-noise", "salt-and-pepper"})


def bundled(track_name: str) -> tuple[str, ...]:
    """Names of the bundled submissions to the track `track_name`."""
    return tuple(baseline.name for baseline in baselines() if baseline.track == track_name)


def knows_digits_only(name: str) -> bool:
    """Whether the bundled submission holds weights or images of the digits, and is of no use for others."""
    return name not in _FOR_ANY_IMAGES
