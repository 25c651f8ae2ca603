"""Released archives of the images that an attack made of a batch: a zip of PNG files named by their index."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from hashlib import file_digest
from io import BytesIO
from typing import IO

import numpy as np
from PIL import Image as Picture

from evaluation.bundle.checked_fields import quoted
from evaluation.bundle.released_zip_reader import BROKEN, read_file
from evaluation.formats.transfer.bundle.reader import TransferBundle
from evaluation.formats.transfer.bundle.writer import BundleAttackRun
from evaluation.formats.transfer.runner.attack_output_reader import pixel_hash

MOST_BYTES = 64_000_000
"""The largest image of an archive, unpacked, in bytes."""


def check_archive(bundle: TransferBundle, name: str, file: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Yield the problems of the archive `name`, each with the number of the line that it contradicts."""
    digest = file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    # attacks that made equal images have one archive
    runs = [(bundle.attacks_at[key], run) for key, run in bundle.record.attack_runs.items() if run.archive == digest]
    if not runs:
        yield 1, f"{name} is not an archive whose digest was signed"
    for line, run in runs:
        file.seek(0)
        try:
            for problem in _check(file, run):
                yield line, f"{name}: {problem}"
        except BROKEN as error:
            yield line, f"{name} cannot be read: {quoted(str(error))}"


def _check(file: IO[bytes], run: BundleAttackRun) -> Iterator[str]:
    expected = {f"{index:05}.png": each for index, each in enumerate(run.hashes) if each}
    with zipfile.ZipFile(file) as archive:
        if sorted(archive.namelist()) != sorted(expected):
            yield "its files are not the images whose hashes were signed"
            return
        for image, digest in expected.items():
            content = read_file(archive, image, MOST_BYTES)
            with Picture.open(BytesIO(content), formats=("PNG",)) as picture:
                if pixel_hash(np.asarray(picture.convert("RGB"))) != digest:
                    yield f"{image} is not the image whose hash was signed"
