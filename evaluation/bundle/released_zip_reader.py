"""Reading of released zip files, which may come from anybody."""

from __future__ import annotations

import zipfile

from evaluation.datasets.released_samples import BROKEN

__all__ = ["BROKEN", "read_file"]


def read_file(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Return the content of a file of `archive`. Raise `ValueError` if it has more than `most` bytes unpacked."""
    if archive.getinfo(name).file_size > most:
        raise ValueError(f"{name} is larger than {most:,} bytes")
    return archive.read(name)
