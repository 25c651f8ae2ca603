"""Verification of a proof: whether a model is wrong on its images.

The clean images are not shown: an instance that has seen one could give its label to everything near it. Those on which
the model is right are known from its round.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.domain.images import Images
from evaluation.formats.curves.models.classifier import Classifier
from evaluation.formats.curves.models.sandboxed_classifier import as_images
from evaluation.formats.curves.proofs.image_verdict import ImageVerdict
from evaluation.formats.curves.results import Integers
from gauntlet import frames

Start: TypeAlias = Callable[[], AbstractContextManager[Classifier]]
"""Starts a fresh instance of the model."""


class DeadlineExceededError(Exception):
    """The verification took too long."""


def verdicts(start: Start, changed: Images, labels: Integers, *, seed: int, seconds: float) -> list[str]:
    """Return a verdict for each of n changed images (n, height, width, channels) with true labels (n,).

    Two fresh instances label them, each in another drawn order. Raise `ModelFailedError` or `Fault` as the model does,
    and `DeadlineExceededError` after more than `seconds`.
    """
    deadline, draw = time.monotonic() + seconds, np.random.default_rng(seed)
    answers = np.empty((2, len(changed)), np.int64)
    for own in answers:
        order = draw.permutation(len(changed))
        with start() as model:
            own[order] = _labels(model, changed[order], deadline)
    return [_verdict(label, *pair) for label, pair in zip(labels, answers.T, strict=True)]


def _verdict(label: int, first: int, second: int) -> str:
    if first != second:
        return ImageVerdict.INCONSISTENT
    return ImageVerdict.RIGHT if first == label else ImageVerdict.ADVERSARIAL


def _labels(model: Classifier, images: Images, deadline: float) -> NDArray[np.int64]:
    """Return the labels of images, one frame at a time."""
    found = []
    for start in range(0, len(images), frames.MAX_COUNT):
        if time.monotonic() > deadline:
            raise DeadlineExceededError
        found.append(model.labels(as_images(images[start : start + frames.MAX_COUNT])).numpy())
    return np.concatenate(found)
