"""Adapter: names of the bundled submissions for each track."""

from __future__ import annotations

from evaluation.baselines.bundled import BundledRepository
from evaluation.domain.errors import Fault
from evaluation.formats.registry import all_bundled


def bundled(format_name: str, track_name: str) -> tuple[str, ...]:
    """Return the names of the bundled submissions to a track of a format."""
    return tuple(each.name for each in all_bundled() if (each.format, each.track) == (format_name, track_name))


def bundled_repository(track_name: str, name: str) -> BundledRepository:
    """Return the bundled submission `name` to the track `track_name`. Raise `Fault` if there is none."""
    if found := _find(track_name, name):
        return found
    raise Fault(f"no submission to the track {track_name} that is bundled is named {name!r}")


def bundled_digest(track_name: str, name: str) -> str:
    """Return the digest of the files of a bundled submission; "" if this version bundles none of that name."""
    found = _find(track_name, name)
    return found.digest if found else ""


def works_only_on(track_name: str, name: str, source: str) -> str:
    """Return the data sets that the bundled submission is made for, or "" if it works on the images of `source`."""
    made_for = bundled_repository(track_name, name).data_sets
    return "" if source.partition(":")[0] in made_for else " or ".join(made_for)


def missing_package(track_name: str, name: str, source: str) -> str:
    """Return the package that the bundled submission needs for images of `source` and this Python lacks, or ""."""
    return bundled_repository(track_name, name).package_missing_for(source.partition(":")[0])


def clean_accuracy(track_name: str, name: str, source: str) -> float | None:
    """Return the share of validation images of `source` that a bundled model labels right; None if it is not known."""
    return bundled_repository(track_name, name).accuracy_on(source.partition(":")[0])


def _find(track_name: str, name: str) -> BundledRepository | None:
    """Return the bundled submission, whose name no other format uses."""
    return next((each for each in all_bundled() if (each.track, each.name) == (track_name, name)), None)
