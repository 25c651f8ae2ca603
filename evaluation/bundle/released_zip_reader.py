"""Reading of released zip files, which may come from anybody."""

from __future__ import annotations

import csv
import struct
import zipfile
import zlib

from PIL import Image as Picture

BROKEN = (
    zipfile.BadZipFile, zlib.error, csv.Error, struct.error, Picture.DecompressionBombError,
    OSError, ValueError, TypeError, LookupError, EOFError, RuntimeError,
)  # fmt: skip
"""Errors of reading a damaged or malicious zip file, and the tables and pictures in it."""


def read_file(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Return the content of a file of `archive`. Raise `ValueError` if it has more than `most` bytes unpacked."""
    if archive.getinfo(name).file_size > most:
        raise ValueError(f"{name} is larger than {most:,} bytes")
    return archive.read(name)
