"""Start images for targeted attacks: a few public images of each class."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.images import Image

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
