"""Adapter: data sets that superusers upload as archives of images, prepared for competitions."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from django.conf import settings
from django.db import IntegrityError, transaction

from competitions.data_set_models import UploadedDataSet
from competitions.models import SampleSet
from competitions.sample_store import UPLOADED, image_hash, image_hashes
from competitions.toml_text import written
from core import clock, event_log
from core.errors import Refusal
from evaluation.datasets.base import Dataset
from evaluation.datasets.folder import folder as read_folder
from evaluation.datasets.image_archive import ArchiveLimits, unpack
from evaluation.datasets.prepared_store import Store, open_store, prepare
from evaluation.domain.errors import DatasetRefusal

if TYPE_CHECKING:
    from accounts.models import User

LIMITS = ArchiveLimits()
MOST_DECODED = 16 << 30
"""Bytes of the pixels of all images. A small file can hold a large image of one colour, and this disk is the site's."""


def add_data_set(*, name: str, licence: str, archive: IO[bytes], by: User) -> UploadedDataSet:
    """Prepare the images of an uploaded archive, and record them as `name`. Nothing is left of a refused one.

    Raise `Refusal` that lists what is wrong with the archive, or if the name is taken.
    """
    taken = Refusal(f"there is a data set {name!r} already", fix="choose another name")
    if UploadedDataSet.objects.filter(name=name).exists():
        raise taken
    made = UploadedDataSet(name=name, licence=licence, uploaded_by=by, uploaded_at=clock.now())
    place = Path(settings.STATE) / "data-sets"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".upload-", dir=place, ignore_cleanup_errors=True) as folder:
        store, prepared = _prepared(archive, Path(folder))
        dataset = open_store(prepared, UPLOADED)
        made.splits, made.class_names, made.shape = store.splits, list(dataset.class_names), list(store.shape)
        made.bytes, made.digest, made.repeated = store.bytes, store.sha256, store.repeated
        made.shared = _shared(dataset)
        try:
            prepared.rename(made.folder)
        except OSError:
            if not made.folder.is_dir():  # else equal images were prepared before, or just now by somebody else
                raise
    try:
        with transaction.atomic():
            made.save()
            event_log.record("upload", made, by=by, name=name, images=made.images, digest=made.digest)
    except IntegrityError as error:  # the name was taken meanwhile
        raise taken from error
    return made


def sample_sets_text(made: UploadedDataSet) -> str:
    """Return the tables of a competition's file that take their images from the set: disjoint parts of a secret order.

    A set of one split gives a part of it to each purpose; with several, an organiser chooses.
    """
    split, images = max(made.splits.items(), key=lambda item: item[1])
    count = images // len(SampleSet.Purpose)
    sets = [
        {
            "name": purpose.value,
            "purpose": purpose.value,
            "source": made.source,
            "split": split,
            "order": SampleSet.Order.SECRET.value,
            "skip": number * count,
            "count": count,
            "target_seed": number + 1,
        }
        for number, purpose in enumerate(SampleSet.Purpose)
    ]
    return written({"rules": {"shape": made.shape, "classes": len(made.class_names)}, "sample_sets": sets})


def _prepared(archive: IO[bytes], folder: Path) -> tuple[Store, Path]:
    """Unpack the archive below `folder`, and prepare its images there; return their store, and where it is."""
    unpacked, prepared = folder / "archive", folder / "prepared"
    unpacked.mkdir()
    unpack(archive, unpacked, LIMITS)
    try:
        dataset = read_folder(unpacked)
        pixels = sum(dataset.read(split).size for split in dataset.splits) * dataset.shape.size
        if pixels > MOST_DECODED:
            raise Refusal(
                f"the images have {pixels:,} bytes of pixels, at most {MOST_DECODED:,} are allowed",
                fix="make them smaller, or leave images out",
            )
        return prepare(dataset, UPLOADED, prepared, on_image=lambda split, total: None), prepared
    except DatasetRefusal as refusal:  # nobody needs to know the site's folder
        raise DatasetRefusal(refusal.problem.replace(str(unpacked), "the archive"), fix=refusal.fix) from refusal


def _shared(dataset: Dataset) -> dict[str, int]:
    """Return how many images each sample set of the site has, too; only those that share any."""
    own = {image_hash(sample) for split in dataset.splits for sample in dataset.read(split).samples}
    counted = {}
    for each in SampleSet.objects.select_related("competition"):
        if number := len(own & image_hashes(each)):
            counted[str(each)] = number
    return counted
