"""Adapter: names of the bundled submissions for each track."""

from __future__ import annotations

from evaluation.baselines.catalogue import Baseline, baselines
from evaluation.baselines.transfer_catalogue import TransferBaseline, transfer_baselines
from evaluation.domain.errors import Fault


def bundled(track_name: str) -> tuple[str, ...]:
    """Return the names of the bundled submissions to the track `track_name`, of either format."""
    return tuple(each.name for each in _all() if each.track == track_name)


def bundled_repository(track_name: str, name: str) -> Baseline | TransferBaseline:
    """Return the bundled submission `name` to the track `track_name`. Raise `Fault` if there is none."""
    for each in _all():
        if (each.track, each.name) == (track_name, name):
            return each
    raise Fault(f"no submission to the track {track_name} that is bundled is named {name!r}")


def works_only_on(track_name: str, name: str, source: str) -> str:
    """Return the data set that the bundled submission is made for, or "" if it works on the images of `source`."""
    made_for = bundled_repository(track_name, name).data_set
    return "" if made_for == source.partition(":")[0] else made_for


def missing_package(track_name: str, name: str) -> str:
    """Return the package that the bundled submission needs and this host's Python lacks, or ""."""
    found = bundled_repository(track_name, name)
    return found.missing_package if isinstance(found, Baseline) else ""


def _all() -> tuple[Baseline | TransferBaseline, ...]:
    return (*baselines(), *transfer_baselines())
