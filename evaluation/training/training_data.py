"""Training data as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

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


def read_training_data(dataset: str) -> TrainingData:
    """Return the splits `train` and `validation` of a data set, or `test` where it has no `validation`.

    Raise `DatasetRefusal` if they are missing.
    """
    source = load_dataset(dataset)
    splits = []
    for name in ("train", "test" if "test" in source.splits and "validation" not in source.splits else "validation"):
        samples = source.samples(name)
        splits += [np.stack([sample.image for sample in samples]), np.array([sample.label for sample in samples])]
    return TrainingData(splits[0], splits[1], splits[2], splits[3], classes=source.classes)
