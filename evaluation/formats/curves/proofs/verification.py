"""Verification of a proof: whether a model is wrong on its images, and right on the clean ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import Images
from evaluation.formats.curves.models.classifier import Classifier
from evaluation.formats.curves.models.sandboxed import as_images
from evaluation.formats.curves.results import Integers
from gauntlet import frames

Start: TypeAlias = Callable[[], AbstractContextManager[Classifier]]
"""Starts a fresh instance of the model."""


class ImageVerdict(StrEnum):
    """What the model says of an image of a proof."""

    ADVERSARIAL = "adversarial"
    """It is right on the clean image, and gives the image twice the same wrong label."""
    FAR = "far"
    """It was not asked: a smaller distance is known."""
    CLEAN_WRONG = "clean-wrong"
    """It is wrong on the clean image."""
    RIGHT = "right"
    INCONSISTENT = "inconsistent"
    """It gave the image two different labels."""


class DeadlineExceededError(Exception):
    """The verification took too long."""


def verdicts(start: Start, clean: Images, changed: Images, labels: Integers, *, seed: int, seconds: float) -> list[str]:
    """Return a verdict for each of n images, (n, height, width, channels) as their clean ones, with true labels (n,).

    One instance labels the clean images and the changed ones, and a fresh one labels all of them in another order.
    Raise `ModelFailedError` or `Fault` as the model does, and `DeadlineExceededError` after more than `seconds`.
    """
    deadline = time.monotonic() + seconds
    both, count = np.concatenate([clean, changed]), len(clean)
    order = np.random.default_rng(seed).permutation(len(both))
    with start() as model:
        first = _labels(model, both, deadline)
    again = np.empty_like(first)
    with start() as fresh:
        again[order] = _labels(fresh, both[order], deadline)
    return [
        _verdict(labels[row], (first[row], again[row]), (first[count + row], again[count + row]))
        for row in range(count)
    ]


def _verdict(label: int, clean: tuple[int, int], changed: tuple[int, int]) -> str:
    if clean != (label, label):
        return ImageVerdict.CLEAN_WRONG
    if changed[0] != changed[1]:
        return ImageVerdict.INCONSISTENT
    return ImageVerdict.RIGHT if changed[0] == label else ImageVerdict.ADVERSARIAL


def _labels(model: Classifier, images: Images, deadline: float) -> NDArray[np.int64]:
    """Return the labels of images, one frame at a time."""
    found = []
    for start in range(0, len(images), frames.MAX_COUNT):
        if time.monotonic() > deadline:
            raise DeadlineExceededError
        found.append(model.labels(as_images(images[start : start + frames.MAX_COUNT])).numpy())
    return np.concatenate(found)
