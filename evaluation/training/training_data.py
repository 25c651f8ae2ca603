"""Training data as arrays."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.datasets.base import Dataset
from evaluation.datasets.load import load_dataset
from evaluation.domain.images import Images

Labels: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Images uint8 (n, h, w, 3) and labels (n,) for training, and those for validation."""

    images: Images
    labels: Labels
    validation_images: Images
    validation_labels: Labels
    classes: int
    sha256: str = ""
    """Of labels and images in their order, those for training first: the same for a tree and its prepared store."""


def read_training_data(dataset: str) -> TrainingData:
    """Return the splits `train` and `validation` of a data set, or `test` where it has no `validation`.

    Raise `DatasetRefusal` if they are missing, or any image is damaged.
    """
    source = load_dataset(dataset)
    digest = hashlib.sha256()
    images, labels = _split(source, "train", digest)
    held_out = "test" if "test" in source.splits and "validation" not in source.splits else "validation"
    validation_images, validation_labels = _split(source, held_out, digest)
    return TrainingData(images, labels, validation_images, validation_labels, source.classes, digest.hexdigest())


def _split(source: Dataset, name: str, digest: hashlib._Hash) -> tuple[Images, Labels]:
    """Read a split into arrays made beforehand: two copies of a large data set may not fit."""
    reading = source.read(name)
    images = np.empty((reading.size, *source.shape), np.uint8)
    labels = np.empty(reading.size, np.int64)
    for row, sample in enumerate(reading.samples):
        images[row], labels[row] = sample.image, sample.label
        digest.update(f"{sample.label} ".encode())
        digest.update(sample.image.tobytes())
    return images, labels
