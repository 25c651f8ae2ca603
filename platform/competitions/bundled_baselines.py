"""Adapter: names of the bundled submissions for each track."""

from __future__ import annotations

from evaluation.baselines.catalogue import baselines, find_baseline


def bundled(track_name: str) -> tuple[str, ...]:
    """Return the names of the bundled submissions to the track `track_name`."""
    return tuple(baseline.name for baseline in baselines() if baseline.track == track_name)


def works_only_on(name: str, source: str) -> str:
    """Return the data set that the bundled submission is made for, or "" if it works on the images of `source`."""
    made_for = find_baseline(name).data_set
    return "" if made_for == source.partition(":")[0] else made_for


def missing_package(name: str) -> str:
    """Return the package that the bundled submission needs and this host's Python lacks, or ""."""
    return find_baseline(name).missing_package
