"""Start images for targeted attacks: a few public images of each class."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.images import Image, ImageShape

STARTS = "starts.npz"

_MOST_IMAGES = 400
"""With many classes, fewer images of each: a repository should stay small."""


def write_starts(file: Path, dataset: str, *, split: str = "train", per_class: int = 5) -> int:
    """Write the first `per_class` images of each class, or fewer if there are many classes. Return their number.

    The file holds the arrays `images` (n, h, w, 3) and `labels` (n,). Raise `DatasetRefusal` if the split is missing,
    or lacks a class.
    """
    source = load_dataset(dataset)
    wanted = max(1, min(per_class, _MOST_IMAGES // source.classes))
    found: dict[int, list[Image]] = defaultdict(list)
    for sample in source.read(split).samples:
        if len(found[sample.label]) < wanted:
            found[sample.label].append(sample.image)
    if missing := [name for label, name in enumerate(source.class_names) if not found[label]]:
        raise DatasetRefusal(
            f"the split {split!r} of {dataset} has no image of {missing[0]}", fix="name another data set"
        )
    labels = [label for label in sorted(found) for _ in found[label]]
    images = [image for label in sorted(found) for image in found[label]]
    np.savez_compressed(file, allow_pickle=False, images=np.stack(images), labels=np.array(labels, np.int16))
    return len(images)


def check_starts(file: Path, shape: ImageShape, classes: int) -> None:
    """Raise `DatasetRefusal` unless a file of start images has images of this shape, at least one of each class."""
    fix = "write it again: gauntlet new targeted DIR --starts DATASET, from images of this competition"
    try:
        with np.load(file, allow_pickle=False) as arrays:
            images, labels = arrays["images"], arrays["labels"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DatasetRefusal(f"{file} has no arrays images and labels ({error})", fix=fix) from error
    if images.dtype != np.uint8 or images.ndim != len(shape) + 1 or images.shape[1:] != tuple(shape):
        found = " x ".join(map(str, images.shape[1:]))
        wanted = " x ".join(map(str, shape))
        raise DatasetRefusal(f"{file} has images of {found} ({images.dtype}), not of {wanted} (uint8)", fix=fix)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) != len(images):
        raise DatasetRefusal(f"{file} has {len(images)} images, but labels of shape {labels.shape}", fix=fix)
    if len(labels) and not 0 <= labels.min() <= labels.max() < classes:
        raise DatasetRefusal(f"{file} has labels from {labels.min()} to {labels.max()}, of {classes} classes", fix=fix)
    if missing := classes - len(np.unique(labels)):
        raise DatasetRefusal(f"{file} has no image of {missing} of {classes} classes", fix=fix)
