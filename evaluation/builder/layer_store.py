"""Port of the store of image layers and configurations, from which every host loads players."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Protocol


class LayerStore(Protocol):
    """Files by the digest of their content (64 hexadecimal digits). Raises `Fault` if it is not readable."""

    def has(self, digest: str) -> bool:
        """Return True if a file is stored under `digest`, False only where the store answers that none is."""

    def put(self, file: Path) -> str:
        """Store a copy of `file`, completely or not at all. Return its digest."""

    def open(self, digest: str) -> IO[bytes]:
        """Open the file stored under `digest`."""

    def image_of(self, recipe: str) -> str | None:
        """Return the identity of the image of a recipe that is stored, None if none is known."""
