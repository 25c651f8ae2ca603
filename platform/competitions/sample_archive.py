"""Adapter: archives of samples, which `gauntlet` reads with `--dataset released:FILE`. Equal rows give equal bytes."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from PIL import Image as Picture

from competitions.sample_store import samples_of
from core import object_store, optional_cache
from core.concurrent_archive_limit import making_archive
from evaluation.datasets.released_samples import CLASSES, SAMPLES, image_name
from evaluation.domain.images import Image

if TYPE_CHECKING:
    from competitions.models import Competition, SampleSet

_README = Path(__file__).with_name("development_readme.md")
_NO_SOURCE = "The organisers have not described the source of the images."


def open_development_archive(competition: Competition, sample_set: SampleSet) -> IO[bytes]:
    """Open the archive of the public samples of a competition. It is made once, and again if a text of it changed.

    Raise `Fault` if the samples are damaged, and `ArchivesBusyError` while too many archives are being made.
    """
    licence = f"# {competition.title}\n\n{competition.data_source.strip() or _NO_SOURCE}\n"
    content = [sample_set.digest, sample_set.class_names, licence, _README.read_text(encoding="utf-8")]
    key = f"development-archive-{hashlib.sha256(json.dumps(content).encode()).hexdigest()}"
    digest = optional_cache.get(key)
    if digest is None or object_store.size(digest) is None:
        with making_archive():
            digest = object_store.put(_development_archive(sample_set, licence))
        optional_cache.put(key, digest, None)
    return object_store.open_object(digest)


def _development_archive(sample_set: SampleSet, licence: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        add(archive, "README.md", _README.read_bytes())
        add(archive, "LICENCE.md", licence.encode())
        add_samples(archive, sample_set)
    return file.getvalue()


def add_samples(archive: zipfile.ZipFile, sample_set: SampleSet, hashes: Sequence[str] = ()) -> None:
    """Add the images, labels and targets of a set, and the names of its classes; with a column for `hashes`, if any."""
    samples = samples_of(sample_set)
    head = ["number", "label", "target", *(["hash"] if hashes else [])]
    ends = [[digest] for digest in hashes] or [[] for _ in samples]
    rows = [[each.number, each.label, each.target, *end] for each, end in zip(samples, ends, strict=True)]
    add(archive, CLASSES, json.dumps(sample_set.class_names).encode())
    add(archive, SAMPLES, table(head, rows))
    for sample in samples:
        add(archive, image_name(sample.number), png(sample.image))


def png(image: Image) -> bytes:
    """Return an image as a PNG file."""
    file = io.BytesIO()
    Picture.fromarray(image[:, :, 0] if image.shape[2] == 1 else image).save(file, "png", compress_level=1)
    return file.getvalue()


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return a CSV file."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return file.getvalue().encode()


def add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a file to an archive, without the time of day."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)
