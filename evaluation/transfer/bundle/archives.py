"""Released archives of the images that an attack made of a batch: a zip of PNG files named by their index."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from hashlib import file_digest
from io import BytesIO
from typing import IO

import numpy as np
from PIL import Image as Picture

from evaluation.bundle.fields import quoted
from evaluation.transfer.adversarial_images import pixel_hash
from evaluation.transfer.bundle.reader import TransferBundle
from evaluation.transfer.bundle.records import BundleAttackRun

MOST_BYTES = 64_000_000
"""The largest image of an archive, unpacked, in bytes."""

_BROKEN = (zipfile.BadZipFile, zlib.error, OSError, ValueError, LookupError, EOFError, RuntimeError)


def check_archive(bundle: TransferBundle, name: str, file: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Yield the problems of the archive `name`, each with the number of the line that it contradicts."""
    digest = file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    runs = {run.archive: key for key, run in bundle.record.attack_runs.items()}
    if digest not in runs:
        yield 1, f"{name} is not an archive whose digest was signed"
        return
    line, run = bundle.attacks_at[runs[digest]], bundle.record.attack_runs[runs[digest]]
    file.seek(0)
    try:
        for problem in _check(file, run):
            yield line, f"{name}: {problem}"
    except _BROKEN as error:
        yield line, f"{name} cannot be read: {quoted(str(error))}"


def _check(file: IO[bytes], run: BundleAttackRun) -> Iterator[str]:
    expected = {f"{index:05}.png": each for index, each in enumerate(run.hashes) if each}
    with zipfile.ZipFile(file) as archive:
        if sorted(archive.namelist()) != sorted(expected):
            yield "its files are not the images whose hashes were signed"
            return
        for image, digest in expected.items():
            if archive.getinfo(image).file_size > MOST_BYTES:
                raise ValueError(f"{image} is larger than {MOST_BYTES:,} bytes")
            with Picture.open(BytesIO(archive.read(image)), formats=("PNG",)) as picture:
                if pixel_hash(np.asarray(picture.convert("RGB"))) != digest:
                    yield f"{image} is not the image whose hash was signed"
