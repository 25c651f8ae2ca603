"""Adapter: the check of an organisers' directory that is to be a baseline of the query format."""

from __future__ import annotations

from pathlib import Path

from core.errors import Refusal
from evaluation.builder.manifest import read_manifest
from evaluation.formats.query.rules import QueryRules
from evaluation.training.start_images import STARTS, check_starts
from formats.query.tracks import TARGETED


def check_baseline(track_name: str, source: Path, rules: QueryRules) -> None:
    """Raise `Refusal` if the directory holds no submission to the track, or start images for other images."""
    manifest = read_manifest(source)
    if manifest.track != track_name:
        raise Refusal(
            f"{source} is a submission to the {manifest.track} track", fix=f"list it below [tracks.{manifest.track}]"
        )
    starts = source / STARTS
    if track_name == TARGETED and starts.exists():
        check_starts(starts, rules.shape, rules.classes)
