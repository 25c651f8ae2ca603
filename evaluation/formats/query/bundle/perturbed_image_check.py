"""Checks of a released archive of perturbed images against the results of its pair."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from math import isclose
from typing import IO

import numpy as np
from PIL import Image as Picture

from evaluation.bundle.checked_fields import quoted
from evaluation.bundle.released_zip_reader import BROKEN, read_file
from evaluation.datasets.released_samples import image_name
from evaluation.domain.images import Image
from evaluation.formats.query.bundle.reader import Bundle
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.runner.piece_file import IMAGES
from evaluation.formats.query.tournament.round_state import SampleRow
from evaluation.scoring.distances import l2

PAIR, ROWS = "pair.json", "samples.csv"
"""Files of an archive: its pair, and the rows of its samples."""

MOST_BYTES = 256_000_000
"""The largest file of an archive, unpacked, in bytes."""

_ROUNDING = 1e-12
"""The share by which a square root may differ between processors."""

_COLUMNS = ("sample", "outcome", "distance", "queries")


def piece_name(number: int) -> str:
    """Return the name in the archive of the file of piece `number`, from 0."""
    return f"pieces/{number:05d}.npz"


def check_pair(bundle: Bundle, clean: Mapping[int, Image], name: str, file: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Yield the problems of the archive `name`, each with the number of the line that it contradicts.

    `clean` are the images of the samples that are known, by number: distances from the others are not computed.
    """
    line = 1
    try:
        with zipfile.ZipFile(file) as archive:
            content = json.loads(read_file(archive, PAIR, MOST_BYTES))
            pair = str(content["model"]), str(content["attack"])
            if pair not in bundle.results_at:
                yield line, f"{name}: there are no results of {quoted(pair[0])} against {quoted(pair[1])}"
                return
            line = bundle.results_at[pair]
            for problem in _check(archive, bundle, clean, pair):
                yield line, f"{name}: {problem}"
    except BROKEN as error:
        yield line, f"{name} cannot be read: {quoted(str(error))}"


def _check(
    archive: zipfile.ZipFile, bundle: Bundle, clean: Mapping[int, Image], pair: tuple[str, str]
) -> Iterator[str]:
    pieces, results = bundle.record.pieces[pair], bundle.record.facts.results[pair]
    names = {PAIR, ROWS, *(piece_name(number) for number in range(len(pieces)))}
    first = 0
    for number, piece in enumerate(pieces):
        content = read_file(archive, piece_name(number), MOST_BYTES)
        if sha256(content).hexdigest() != piece.digest:
            yield f"{piece_name(number)} is not the file whose digest was signed"
        else:
            images = _images(content, first, piece.end)
            names |= {image_name(sample) for sample in images}
            yield from _other_pictures(archive, images)
            yield from _other_distances(bundle, results, clean, images)
        first = piece.end
    table = csv.DictReader(io.StringIO(read_file(archive, ROWS, MOST_BYTES).decode()))
    if [[row[column] for column in _COLUMNS] for row in table] != [
        [str(number), str(row.outcome), str(row.distance), str(row.queries)] for number, row in results.items()
    ]:
        yield f"{ROWS} differs from the rows of the results"
    if unknown := sorted(set(archive.namelist()) - names):
        yield f"it holds files that were not signed: {quoted(unknown)}"


def _images(content: bytes, first: int, end: int) -> Mapping[int, Image]:
    """Return the images of a piece by sample. The file was signed, but it can still be malformed."""
    with zipfile.ZipFile(io.BytesIO(content)) as inner:
        if max((one.file_size for one in inner.infolist()), default=0) > MOST_BYTES:
            raise ValueError("a column of a piece is too large")
    with np.load(io.BytesIO(content), allow_pickle=False) as columns:
        numbers, images = columns["sample"].tolist(), columns[IMAGES]
    if numbers != list(range(first, end)) or len(images) != end - first:
        raise ValueError(f"a piece does not hold the samples {first} to {end - 1}")
    return dict(zip(numbers, images, strict=True))


def _other_pictures(archive: zipfile.ZipFile, images: Mapping[int, Image]) -> Iterator[str]:
    for sample, image in images.items():
        wanted = image[:, :, 0] if image.shape[2] == 1 else image
        picture = Picture.open(io.BytesIO(read_file(archive, image_name(sample), MOST_BYTES)))
        # check the size first: it determines how much memory is allocated
        if picture.size != wanted.shape[1::-1] or not np.array_equal(np.asarray(picture), wanted):
            yield f"{image_name(sample)} is not the image of the piece"


def _other_distances(
    bundle: Bundle, results: Mapping[int, SampleRow], clean: Mapping[int, Image], images: Mapping[int, Image]
) -> Iterator[str]:
    """Yield the samples that were scored by another distance than that of their image."""
    for sample, image in images.items():
        row = results[sample]
        if row.outcome is not Outcome.ADVERSARIAL or sample not in clean:
            continue
        distance = min(l2(clean[sample], image), bundle.record.samples[sample].worst_case)
        if not isclose(row.distance, distance, rel_tol=_ROUNDING):
            yield f"{image_name(sample)} is at the distance {distance}, and not {row.distance} as in the results"
