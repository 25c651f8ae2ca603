"""Adapter: storage of sample sets from the engine's data sets in the object store."""

from __future__ import annotations

import hashlib
import math
import os
import secrets
from contextlib import contextmanager
from functools import lru_cache
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING

import numpy as np

from competitions.uploaded_data_set_models import PREFIX, UploadedDataSet
from core import object_store
from core.errors import Fault, HostFault, Refusal
from evaluation.bundle.canonical_json import commitment_of
from evaluation.bundle.sample_hash import salted_hash
from evaluation.datasets.base import Dataset, with_targets
from evaluation.datasets.load import load_dataset
from evaluation.datasets.prepared_store import open_store
from evaluation.domain.samples import Sample
from evaluation.scoring.distances import worst_case

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from competitions.models import SampleSet
    from competitions.rules_reader import Rules

UPLOADED = "uploaded"
"""What the prepared store of an uploaded data set says of itself."""

_MAX_BYTES = 256 << 20
"""Part of a split that is searched for further images: 21,845 images of 64 x 64 x 3."""

_IN_MEMORY = 64 << 20
"""Bytes of a set that is written in memory; a larger one goes through a temporary file."""


def keep_samples(
    *, source: str, split: str, count: int, target_seed: int, rules: Rules, skip: int = 0, salt: str = ""
) -> tuple[str, tuple[str, ...]]:
    """Read `count` samples after the first `skip`, draw their targets and store them.

    With a `salt` the split is first put in the order that `secret_order` gives; otherwise it is that of the data set.
    Return the digest and the names of the classes. Raise `Refusal` if the data set is unknown, damaged or too small,
    or does not match the rules.
    """
    dataset = _matching_dataset(source, rules)
    if salt:
        chosen: Sequence[Sample] = _in_secret_order(dataset, split, skip, count, salt)
    else:
        chosen = dataset.samples(split, skip + count)[skip:]
    return _keep(with_targets(chosen, dataset.classes, target_seed)), dataset.class_names


def secret_order(count: int, salt: str) -> list[int]:
    """Return the numbers 0 to `count` - 1, sorted by the SHA-256 of "order {salt} {number}".

    Every round is drawn and verified by this order, so it must never change.
    """
    return sorted(range(count), key=lambda number: hashlib.sha256(f"order {salt} {number}".encode()).digest())


def _in_secret_order(dataset: Dataset, split: str, skip: int, count: int, salt: str) -> list[Sample]:
    """Return a part of the shuffled split, in which each image is taken once: parts of one split share no image.

    The split is read twice, and only that part of it is kept in memory.
    """
    distinct = {sample.number for _, sample in _distinct(dataset.read(split).samples)}
    if skip + count > (images := len(distinct)):
        raise Refusal(
            f"{skip + count} samples were requested, but the split {split!r} of {dataset.name} has {images} images",
            fix=f"choose skip and count with a sum of at most {images}",
        )
    order = [number for number in secret_order(max(distinct) + 1, salt) if number in distinct]
    places = {number: place for place, number in enumerate(order[skip : skip + count])}
    found = {places[sample.number]: sample for sample in dataset.read(split).samples if sample.number in places}
    return [found[place] for place in range(count)]


def _distinct(samples: Iterable[Sample]) -> Iterator[tuple[bytes, Sample]]:
    """Yield each image once, with its hash; one that lies in two classes has the label of the first."""
    seen = set()
    for sample in samples:
        if (name := image_hash(sample)) not in seen:
            seen.add(name)
            yield name, sample


def keep_further_samples(
    *, source: str, split: str, count: int, target_seed: int, rules: Rules, known: Container[bytes]
) -> str:
    """Choose `count` samples of a split at random, of images not in `known` (see `image_hashes`), and store them.

    Each image is taken once. Return the digest. Raise `Refusal` if the data set cannot be read on this host, does not
    match the rules, or has too few further images.
    """
    dataset = _matching_dataset(source, rules)
    searched = dataset.first(split, _MAX_BYTES // rules.shape.size)
    further = [sample for name, sample in _distinct(searched) if name not in known]
    if len(further) < count:
        raise Refusal(
            f"the split {split!r} of {source} has only {len(further)} images outside all sample sets, but {count} are "
            "needed",
            fix="add images to the split, or import another validation set",
        )
    chosen = secrets.SystemRandom().sample(further, count)
    return _keep(with_targets(chosen, dataset.classes, target_seed))


def _matching_dataset(source: str, rules: Rules) -> Dataset:
    dataset = _dataset_of(source)
    if dataset.shape != rules.shape or dataset.classes != rules.classes:
        raise Refusal(
            f"{source} has {dataset.classes} classes and images of {tuple(dataset.shape)}, but the rules have "
            f"{rules.classes} and {tuple(rules.shape)}",
            fix="correct classes and shape in the rules, or choose another data set",
        )
    return dataset


def _dataset_of(source: str) -> Dataset:
    if not source.startswith(PREFIX):
        return load_dataset(source)
    uploaded = UploadedDataSet.objects.filter(name=source.removeprefix(PREFIX)).first()
    if uploaded is None:
        raise Refusal(f"there is no data set {source}", fix="upload it in the admin, or name another data set")
    return open_store(uploaded.folder, UPLOADED)


def samples_of(sample_set: SampleSet) -> tuple[Sample, ...]:
    """Return all samples of a set in order, numbered from 0. Raise `Fault` if they are damaged."""
    return _unpack(sample_set.digest)


def classes_of(sample_set: SampleSet) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return label and target of each sample of a set in order, without keeping its images in memory.

    Raise `Fault` if the set is damaged.
    """
    return _classes(sample_set.digest)


def draw(sample_set: SampleSet, order: Sequence[int]) -> str:
    """Store the samples with the numbers in `order`, renumbered in that order; return the digest.

    Images, labels and targets do not change. Raise `Fault` if the set is damaged.
    """
    samples = samples_of(sample_set)
    return _keep([samples[number] for number in order])


def commitment_to(hashes: Sequence[str]) -> str:
    """Return the commitment to a list of sample hashes, as `gauntlet verify` recomputes it."""
    return commitment_of(hashes)


def sample_hashes(sample_set: SampleSet, salt: str) -> tuple[str, ...]:
    """Return the salted hash of each sample, in the order of the set."""
    return tuple(salted_hash(sample, salt) for sample in samples_of(sample_set))


def image_hashes(sample_set: SampleSet) -> frozenset[bytes]:
    """Return the SHA-256 of each image's bytes, without a salt, to find images that two sets share."""
    return _image_hashes(sample_set.digest)


def image_hash(sample: Sample) -> bytes:
    """Return the SHA-256 of the image's bytes."""
    return hashlib.sha256(sample.image.tobytes()).digest()


def worst_cases(sample_set: SampleSet) -> tuple[float, ...]:
    """Return the worst case of each sample: its distance (L2 over pixels / 255) to the grey image."""
    return tuple(worst_case(sample.image) for sample in samples_of(sample_set))


def _keep(samples: Sequence[Sample]) -> str:
    """Store the samples and return the digest; equal samples give equal bytes (a zip would contain times).

    They are written one by one: a final of 2017 has 5,000 images, 1.3 GB.
    """
    file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - put_open closes it
    try:
        images = {"descr": "|u1", "fortran_order": False, "shape": (len(samples), *samples[0].image.shape)}
        np.lib.format.write_array_header_1_0(file, images)
        for sample in samples:
            file.write(sample.image.astype(np.uint8).tobytes())
        for column in ([sample.label for sample in samples], [sample.target for sample in samples]):
            np.lib.format.write_array(file, np.array(column, np.int16), version=(1, 0), allow_pickle=False)
    except OSError as error:
        file.close()
        raise HostFault(f"the samples cannot be written: {error}") from error
    return object_store.put_open(file)


@lru_cache(maxsize=8)
def _classes(digest: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    with object_store.open_object(digest) as file, _damage(digest):
        count, size = _images(file)
        file.seek(count * size, os.SEEK_CUR)
        labels, targets = (np.lib.format.read_array(file, allow_pickle=False) for _ in range(2))
    return tuple(labels.tolist()), tuple(targets.tolist())


def _images(file: IO[bytes]) -> tuple[int, int]:
    """Return the number of images of a set, which follow, and the bytes of each."""
    np.lib.format.read_magic(file)
    (count, *shape), _, _ = np.lib.format.read_array_header_1_0(file)
    return count, math.prod(shape)


@contextmanager
def _damage(digest: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise Fault(f"the samples {digest} cannot be read: {error}") from error


@lru_cache(maxsize=8)
def _image_hashes(digest: str) -> frozenset[bytes]:
    with object_store.open_checked(digest) as file, _damage(digest):
        count, size = _images(file)
        return frozenset(hashlib.sha256(file.read(size)).digest() for _ in range(count))


@lru_cache(maxsize=8)
def _unpack(digest: str) -> tuple[Sample, ...]:
    with object_store.open_checked(digest) as file, _damage(digest):
        images, labels, targets = (np.lib.format.read_array(file, allow_pickle=False) for _ in range(3))
    images.setflags(write=False)
    return tuple(
        Sample(number, image, int(label), int(target))
        for number, (image, label, target) in enumerate(zip(images, labels, targets, strict=True))
    )
