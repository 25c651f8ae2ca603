"""Adapter: the check of an organisers' directory that is to be a baseline of the transfer format."""

from __future__ import annotations

from pathlib import Path

from core.errors import Refusal
from evaluation.formats.transfer.metadata import read_metadata


def check_baseline(track_name: str, source: Path) -> None:
    """Raise `Refusal` if the directory holds no submission to the track."""
    metadata = read_metadata(source)
    if metadata.track != track_name:
        raise Refusal(
            f"{source} is a submission to the {metadata.track} track", fix=f"list it below [tracks.{metadata.track}]"
        )
