"""Start images for targeted attacks: a few public images of each class."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from evaluation.datasets.load import load_dataset

SPLIT = "dev"


def write_starts(file: Path, *, dataset: str = "digits", per_class: int = 5) -> int:
    """Write the first `per_class` dev images of each class as arrays `images` and `labels`. Return their number."""
    source = load_dataset(dataset)
    samples = source.samples(SPLIT)
    chosen = [
        sample
        for label in range(source.classes)
        for sample in [sample for sample in samples if sample.label == label][:per_class]
    ]
    images = np.stack([sample.image for sample in chosen])
    labels = np.array([sample.label for sample in chosen], np.int16)
    np.savez_compressed(file, allow_pickle=False, images=images, labels=labels)
    return len(chosen)
