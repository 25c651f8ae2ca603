"""Adapter: names of the bundled submissions for each track."""

from __future__ import annotations

from evaluation.baselines.catalogue import baselines

_FOR_ANY_IMAGES = frozenset({"boundary", "gaussian-noise", "salt-and-pepper"})


def bundled(track_name: str) -> tuple[str, ...]:
    """Return the names of the bundled submissions to the track `track_name`."""
    return tuple(baseline.name for baseline in baselines() if baseline.track == track_name)


def works_only_on_digits(name: str) -> bool:
    """Return whether the bundled submission contains weights or images of the digits, and works for no other data."""
    return name not in _FOR_ANY_IMAGES
