"""Check of the released secret images of a round against the hashes in its bundle."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO

import numpy as np
from PIL import Image as Picture

from evaluation.bundle.canonical_json import commitment_of
from evaluation.bundle.checked_fields import quoted
from evaluation.bundle.released_zip_reader import BROKEN, read_file
from evaluation.bundle.sample_hash import NO_TARGET, salted_hash
from evaluation.bundle.signature_check import Problem
from evaluation.datasets.released_samples import SAMPLES, image_name
from evaluation.domain.samples import Sample

COMMITMENT = "commitment.json"

_MOST_BYTES = 64_000_000
_MOST_PIXELS = 16_000_000

Contradictions = Callable[[Sample], Iterable[str]]
"""Yields what else the bundle says of a sample and is wrong, each as the end of a sentence about it."""


def check_images(
    hashes: Sequence[tuple[int, str]], contradictions: Contradictions, name: str, file: IO[bytes]
) -> Iterator[Problem]:
    """Yield the problems of the archive `name` of a round's secret images.

    `hashes` are those of the samples in their order, each with the number of its line in the bundle.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            salt, rows = _salt(archive), _rows(archive)
            if len(rows) != len(hashes):
                yield Problem(1, f"{name}: it has {len(rows):,} samples, and the bundle {len(hashes):,}")
            for number, (row, (line, expected)) in enumerate(zip(rows, hashes, strict=False)):
                sample = _sample(archive, number, row)
                if salted_hash(sample, salt) != expected:
                    yield Problem(line, f"{name}: sample {number} does not have the hash of the bundle")
                else:
                    for text in contradictions(sample):
                        yield Problem(line, f"{name}: sample {number} {text}")
    except BROKEN as error:
        yield Problem(1, f"{name} cannot be read: {quoted(str(error))}")


def check_committed(commitment: str, labels: Sequence[int], name: str, file: IO[bytes]) -> Iterator[Problem]:
    """Yield the problems of the archive `name`, for a bundle that has the commitment and the labels of its samples."""
    try:
        with zipfile.ZipFile(file) as archive:
            salt, rows = _salt(archive), _rows(archive)
            if [int(row["label"]) for row in rows] != list(labels):
                yield Problem(1, f"{name}: its labels are not those of the bundle")
            hashes = [salted_hash(_sample(archive, number, row), salt) for number, row in enumerate(rows)]
            if commitment_of(hashes) != commitment:
                yield Problem(1, f"{name}: its samples are not those of the commitment")
    except BROKEN as error:
        yield Problem(1, f"{name} cannot be read: {quoted(str(error))}")


def _salt(archive: zipfile.ZipFile) -> str:
    return str(json.loads(read_file(archive, COMMITMENT, _MOST_BYTES))["salt"])


def _rows(archive: zipfile.ZipFile) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(read_file(archive, SAMPLES, _MOST_BYTES).decode())))


def _sample(archive: zipfile.ZipFile, number: int, row: Mapping[str, str]) -> Sample:
    target = int(row["target"] or NO_TARGET)
    return Sample(number, _image(archive, number), int(row["label"]), None if target == NO_TARGET else target)


def _image(archive: zipfile.ZipFile, number: int) -> np.ndarray:
    content = io.BytesIO(read_file(archive, image_name(number), _MOST_BYTES))
    with Picture.open(content, formats=("PNG",)) as picture:
        if picture.width * picture.height > _MOST_PIXELS:
            raise ValueError(f"{image_name(number)} has more than {_MOST_PIXELS:,} pixels")
        image = np.asarray(picture)
    return image[..., np.newaxis] if image.ndim == 2 else image
