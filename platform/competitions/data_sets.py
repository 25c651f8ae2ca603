"""Adapter: data sets that superusers upload as archives of images, prepared for competitions."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from django.db import transaction

from competitions.data_set_models import DataSet
from competitions.models import SampleSet
from competitions.sample_store import UPLOADED, image_hash, image_hashes
from core import clock, event_log
from core.errors import Refusal
from evaluation.datasets.base import Dataset
from evaluation.datasets.folder import folder
from evaluation.datasets.image_archive import ArchiveLimits, unpack
from evaluation.datasets.prepared_store import Store, open_store, prepare
from evaluation.domain.errors import DatasetRefusal

if TYPE_CHECKING:
    from accounts.models import User

LIMITS = ArchiveLimits()


def add_data_set(*, name: str, licence: str, archive: IO[bytes], by: User) -> DataSet:
    """Prepare the images of an uploaded archive under `name`, and record them. Nothing is left of a refused one.

    Raise `Refusal` that lists what is wrong with the archive, or if the name is taken.
    """
    place = DataSet(name=name).folder
    if place.exists() or DataSet.objects.filter(name=name).exists():
        raise Refusal(f"there is a data set {name!r} already", fix="choose another name")
    store = _prepared(archive, place)
    try:
        dataset = open_store(place, UPLOADED)
        shared = _shared(dataset)
        with transaction.atomic():
            made = DataSet.objects.create(
                name=name,
                licence=licence,
                splits=store.splits,
                class_names=list(dataset.class_names),
                shape=list(store.shape),
                bytes=store.bytes,
                digest=store.sha256,
                repeated=store.repeated,
                shared=shared,
                uploaded_by=by,
                uploaded_at=clock.now(),
            )
            event_log.record("upload", made, by=by, name=name, images=made.images, digest=store.sha256)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return made


def sample_sets_text(made: DataSet) -> str:
    """Return the tables of a competition's file that take their images from the set: disjoint parts of a secret order.

    A set of one split gives a part of it to each purpose; with several, an organiser chooses.
    """
    split, images = max(made.splits.items(), key=lambda item: item[1])
    parts = [("development", 0.25), ("validation", 0.25), ("test", 0.25), ("final", 0.25)]
    lines = ["[rules]", f"shape = {made.shape}", f"classes = {len(made.class_names)}"]
    skip = 0
    for number, (purpose, share) in enumerate(parts, 1):
        count = int(images * share)
        lines += [
            "",
            "[[sample_sets]]",
            f'name = "{purpose}"',
            f'purpose = "{purpose}"',
            f'source = "{made.source}"',
            f'split = "{split}"',
            'order = "secret"',
            f"skip = {skip}",
            f"count = {count}",
            f"target_seed = {number}",
        ]
        skip += count
    return "\n".join(lines) + "\n"


def _prepared(archive: IO[bytes], place: Path) -> Store:
    with _unpacked(archive, place.parent) as root:
        try:
            return prepare(folder(root), UPLOADED, place, on_image=lambda split, total: None)
        except DatasetRefusal as refusal:  # the folder is the site's own
            raise DatasetRefusal(refusal.problem.replace(str(root), "the archive"), fix=refusal.fix) from refusal


@contextmanager
def _unpacked(archive: IO[bytes], beside: Path) -> Iterator[Path]:
    """Give a folder with the files of the archive, on the disk of the prepared sets."""
    beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".upload-", dir=beside, ignore_cleanup_errors=True) as root:
        unpack(archive, Path(root), LIMITS)
        yield Path(root)


def _shared(dataset: Dataset) -> dict[str, int]:
    """Return how many images each sample set of the site has, too; only those that share any."""
    own = {image_hash(sample) for split in dataset.splits for sample in dataset.read(split).samples}
    counted = {}
    for each in SampleSet.objects.select_related("competition"):
        if number := len(own & image_hashes(each)):
            counted[str(each)] = number
    return counted
