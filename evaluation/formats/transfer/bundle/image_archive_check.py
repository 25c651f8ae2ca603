"""Released archives of the images that an attack made of a batch: a zip of PNG files named by their index."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from hashlib import file_digest
from io import BytesIO
from typing import IO

import numpy as np
from PIL import Image as Picture

from evaluation.bundle.checked_fields import quoted
from evaluation.bundle.released_zip_reader import BROKEN, read_file
from evaluation.domain.images import Image
from evaluation.formats.transfer.bundle.reader import TransferBundle
from evaluation.formats.transfer.bundle.writer import BundleAttackRun
from evaluation.formats.transfer.runner.attack_output_reader import pixel_hash

MOST_BYTES = 64_000_000
"""The largest image of an archive, unpacked, in bytes."""


def check_archive(
    bundle: TransferBundle, clean: Mapping[int, Image], name: str, file: IO[bytes]
) -> Iterator[tuple[int, str]]:
    """Yield the problems of the archive `name`, each with the number of the line that it contradicts.

    `clean` are the images of the samples that are known, by number: of the others no ball is checked.
    """
    digest = file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    # attacks that made equal images have one archive
    runs = [(key, run) for key, run in bundle.record.attack_runs.items() if run.archive == digest]
    if not runs:
        yield 1, f"{name} is not an archive whose digest was signed"
    for (attack, batch), run in runs:
        line, first = bundle.attacks_at[attack, batch], batch * bundle.record.head.rules.batch_images
        around = {index: clean[first + index] for index in range(len(run.hashes)) if first + index in clean}
        file.seek(0)
        try:
            for problem in _check(file, run, around, bundle.record.batches[batch].epsilon):
                yield line, f"{name}: {problem}"
        except BROKEN as error:
            yield line, f"{name} cannot be read: {quoted(str(error))}"


def _check(file: IO[bytes], run: BundleAttackRun, clean: Mapping[int, Image], epsilon: int) -> Iterator[str]:
    expected = {f"{index:05}.png": (index, each) for index, each in enumerate(run.hashes) if each}
    with zipfile.ZipFile(file) as archive:
        if sorted(archive.namelist()) != sorted(expected):
            yield "its files are not the images whose hashes were signed"
            return
        for image, (index, digest) in expected.items():
            content = read_file(archive, image, MOST_BYTES)
            with Picture.open(BytesIO(content), formats=("PNG",)) as picture:
                pixels = np.asarray(picture.convert("RGB"))
            if pixel_hash(pixels) != digest:
                yield f"{image} is not the image whose hash was signed"
            elif index in clean and np.abs(pixels.astype(np.int16) - clean[index]).max() > epsilon:
                yield f"{image} is farther than {epsilon} from the clean image"
