"""Catalogue of the bundled submissions, read from their folders."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evaluation.domain.errors import Fault
from evaluation.domain.players import Track


@dataclass(frozen=True)
class Baseline:
    """One bundled submission: `path` is its repository."""

    name: str
    track: Track
    path: Path


@cache
def baselines() -> tuple[Baseline, ...]:
    """Return all bundled submissions: models, untargeted, then targeted attacks; by name within a track.

    Raise `Fault` if a folder has no readable manifest.
    """
    manifests = sorted(Path(__file__).parent.glob("*/submission.toml"))
    found = [Baseline(manifest.parent.name, _track(manifest), manifest.parent) for manifest in manifests]
    return tuple(sorted(found, key=lambda baseline: list(Track).index(baseline.track)))


def is_bundled(directory: Path | None) -> bool:
    """Return True if a player's directory is that of a bundled submission."""
    return directory is not None and directory.resolve() in {baseline.path.resolve() for baseline in baselines()}


def _track(manifest: Path) -> Track:
    try:
        return Track(tomllib.loads(manifest.read_text(encoding="utf-8"))["submission"]["track"])
    except (OSError, KeyError, ValueError) as error:
        raise Fault(f"the bundled submission {manifest.parent.name} has no readable manifest: {error}") from error
