"""Bundled data set: 1,797 handwritten digits, enlarged from 8 x 8 to 64 x 64 x 3 (see data/digits/README.md)."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.datasets.base import Dataset, Reading
from evaluation.domain.images import Images, ImageShape
from evaluation.domain.samples import Sample

SPLITS = ("train", "dev", "validation", "test-1", "test-2", "final")

_FILE = Path(__file__).parent / "data" / "digits" / "digits.npz"
_SMALL = 8
_FACTOR = 8
_INK = 16
"""The largest value of the small images; it becomes 255."""


def digits() -> Dataset:
    """Return the bundled digits; splits train 600, dev 97, validation 200, test-1 200, test-2 200, final 500."""
    side = _SMALL * _FACTOR
    return Dataset(
        name="digits",
        class_names=tuple(str(digit) for digit in range(10)),
        shape=ImageShape(side, side, 3),
        splits={name: partial(_read, name) for name in SPLITS},
    )


def _read(split: str, count: int | None) -> Reading:
    samples = _samples(split, count)
    return Reading(len(samples), iter(samples))


@cache
def _samples(split: str, count: int | None) -> tuple[Sample, ...]:
    with np.load(_FILE, allow_pickle=False) as data:
        chosen = data[split][:count]
        images, labels = enlarge(data["images"][chosen]), data["labels"][chosen]
    images.setflags(write=False)
    return tuple(Sample(number, images[number], int(label)) for number, label in enumerate(labels))


def enlarge(small: NDArray[np.uint8]) -> Images:
    """Upsample (n, 8, 8) values 0 to 16 bilinearly into (n, 64, 64, 3) uint8 images.

    Samples are at pixel centres, edges are repeated, and all numbers are whole: the bytes are equal on every machine.
    """
    weights = _weights()
    sums = np.einsum("yi,nij,xj->nyx", weights, small.astype(np.int64), weights)
    whole = _INK * (2 * _FACTOR) ** 2
    grey = ((255 * sums + whole // 2) // whole).astype(np.uint8)
    return np.repeat(grey[..., np.newaxis], 3, axis=-1)


def _weights() -> NDArray[np.int64]:
    """Return (64, 8) bilinear weights in 1/16; output pixel i reads ((i + 1/2) / 8 - 1/2) of the small image."""
    unit = 2 * _FACTOR
    weights = np.zeros((_SMALL * _FACTOR, _SMALL), np.int64)
    for i, row in enumerate(weights):
        left, rest = divmod(2 * i + 1 - _FACTOR, unit)
        row[max(left, 0)] += unit - rest
        row[min(left + 1, _SMALL - 1)] += rest
    return weights
