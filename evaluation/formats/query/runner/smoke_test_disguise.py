"""Disguise of published images, so that a player cannot recognise the smoke test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evaluation.domain.images import Image
from evaluation.domain.samples import Sample

NOISE = 2
"""The largest change of a pixel value."""

SHIFT = 64
"""Pixels of a side per pixel of the largest shift; the largest shift is at least one pixel."""


def disguise(samples: Sequence[Sample], seed: int) -> list[Sample]:
    """Return `samples` shuffled and renumbered, each slightly shifted and with noise that changes no label.

    Equal seeds give equal images.
    """
    rng = np.random.default_rng(seed)
    shuffled = [samples[index] for index in rng.permutation(len(samples))]
    return [replace(sample, number=number, image=_changed(sample.image, rng)) for number, sample in enumerate(shuffled)]


def _changed(image: Image, rng: np.random.Generator) -> Image:
    height, width = image.shape[:2]
    most_y, most_x = max(1, height // SHIFT), max(1, width // SHIFT)
    padded = np.pad(image, ((most_y, most_y), (most_x, most_x), (0, 0)), mode="edge")
    top, left = rng.integers(0, 2 * most_y, endpoint=True), rng.integers(0, 2 * most_x, endpoint=True)
    moved = padded[top : top + height, left : left + width].astype(np.int16)
    noise = rng.integers(-NOISE, NOISE, image.shape, endpoint=True)
    changed: Image = np.clip(moved + noise, 0, 255).astype(np.uint8)
    return changed
