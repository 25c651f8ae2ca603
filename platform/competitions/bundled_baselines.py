"""Adapter: names of the bundled submissions for each track."""

from __future__ import annotations

from evaluation.baselines.bundled import BundledRepository
from evaluation.domain.errors import Fault
from evaluation.formats.registry import all_bundled


def bundled(track_name: str) -> tuple[str, ...]:
    """Return the names of the bundled submissions to the track `track_name`."""
    return tuple(each.name for each in all_bundled() if each.track == track_name)


def bundled_repository(track_name: str, name: str) -> BundledRepository:
    """Return the bundled submission `name` to the track `track_name`. Raise `Fault` if there is none."""
    for each in all_bundled():
        if (each.track, each.name) == (track_name, name):
            return each
    raise Fault(f"no submission to the track {track_name} that is bundled is named {name!r}")


def bundled_digest(track_name: str, name: str) -> str:
    """Return the digest of the files of a bundled submission; "" if this version bundles none of that name."""
    return bundled_repository(track_name, name).digest if name in bundled(track_name) else ""


def works_only_on(track_name: str, name: str, source: str) -> str:
    """Return the data sets that the bundled submission is made for, or "" if it works on the images of `source`."""
    made_for = bundled_repository(track_name, name).data_sets
    return "" if source.partition(":")[0] in made_for else " or ".join(made_for)


def missing_package(track_name: str, name: str, source: str) -> str:
    """Return the package that the bundled submission needs for images of `source` and this Python lacks, or ""."""
    return bundled_repository(track_name, name).package_missing_for(source.partition(":")[0])
