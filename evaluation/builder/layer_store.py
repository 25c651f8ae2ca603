"""The port: where the layers and configurations of players' images are kept, for every host to fetch."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class LayerStore(Protocol):
    """Files by the digest of their content (64 hexadecimal digits). Raises `Fault` where it cannot be read."""

    def has(self, digest: str) -> bool:
        """Whether a file is kept under `digest`."""

    def put(self, file: Path) -> str:
        """Keep a copy of `file`, whole or not at all; its digest."""

    def path(self, digest: str) -> Path:
        """Where the file lies that is kept under `digest`."""
