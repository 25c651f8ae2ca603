"""The released samples of a round, or the development samples of a competition: the archive that the site publishes.

samples.csv             number, label, target, ...; in order
classes.json            list of the class names
images/<number>.png     five digits, from 00000
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image as Picture

from evaluation.datasets.base import Dataset, Reading
from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.images import Image, ImageShape
from evaluation.domain.samples import Sample

SPLIT = "round"
SAMPLES, CLASSES = "samples.csv", "classes.json"

BROKEN = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, csv.Error, struct.error, Picture.DecompressionBombError,
    OSError, SyntaxError, ValueError, TypeError, LookupError, EOFError, RuntimeError,
)  # fmt: skip
"""Errors of reading a damaged or malicious zip file, and the tables and pictures in it."""


def image_name(number: int) -> str:
    """Return the name in the archive of the picture of a sample."""
    return f"images/{number:05d}.png"


def released(path: Path) -> Dataset:
    """Return the data set in the archive at `path`. Raise `DatasetRefusal` if it is not such an archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = tuple(str(name) for name in json.loads(archive.read(CLASSES)))
            shape = ImageShape(*_image(archive, 0).shape)
    except BROKEN as error:
        raise _refusal(path, error) from error
    return Dataset(name=path.stem, class_names=names, shape=shape, splits={SPLIT: partial(_read, path)})


def _read(path: Path, count: int | None) -> Reading:
    try:
        with zipfile.ZipFile(path) as archive:
            rows = list(csv.DictReader(io.StringIO(archive.read(SAMPLES).decode())))[:count]
    except BROKEN as error:
        raise _refusal(path, error) from error
    return Reading(len(rows), _samples(path, rows))


def _samples(path: Path, rows: Sequence[Mapping[str, str]]) -> Iterator[Sample]:
    try:
        with zipfile.ZipFile(path) as archive:
            for number, row in enumerate(rows):
                yield Sample(number, _image(archive, number), int(row["label"]), int(row["target"]))
    except BROKEN as error:
        raise _refusal(path, error) from error


def _image(archive: zipfile.ZipFile, number: int) -> Image:
    with Picture.open(io.BytesIO(archive.read(image_name(number)))) as picture:
        image = np.asarray(picture)
    return image[..., np.newaxis] if image.ndim == 2 else image


def _refusal(path: Path, error: Exception) -> DatasetRefusal:
    return DatasetRefusal(
        f"{path} is not an archive of a round's released images ({error})",
        fix='download "Secret images" from the page of the round, or development samples from that of the data set',
    )
