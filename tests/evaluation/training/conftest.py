"""A made-up data set, small enough to train on in a moment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from evaluation.datasets.base import Dataset, Reading
from evaluation.datasets.prepared_store import prepare
from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample

CLASSES = 3


def _samples(side: int, size: int, seed: int, count: int | None) -> Reading:
    """Return images whose brightest channel is their class."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 128, (size, side, side, 3), dtype=np.uint8)
    for number in range(size):
        images[number, :, :, number % CLASSES] += 64
    chosen = range(size)[:count]
    return Reading(len(chosen), (Sample(number, images[number], number % CLASSES, None) for number in chosen))


@pytest.fixture
def made_up(tmp_path: Path) -> Callable[..., str]:
    """Return a function that prepares a store of 3 classes, and returns its name for `--dataset`."""

    def make(side: int = 64, size: int = 12) -> str:
        splits = {"train": partial(_samples, side, size, 0), "validation": partial(_samples, side, 6, 1)}
        dataset = Dataset("Made up", ("red", "green", "blue"), ImageShape(side, side, 3), splits)
        store = tmp_path / f"store-{side}"
        if not store.exists():
            prepare(dataset, "tiny-imagenet", store, on_image=lambda split, total: None)
        return f"tiny-imagenet:{store}"

    return make
