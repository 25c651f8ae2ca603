"""The check that a model is a function of one image: what it was asked is asked again of a fresh instance.

A model with memory answers what it said of a similar image before, so that attacks do not find their way; a fresh
instance that gets the questions in another order has no such memory. The sample is drawn with a seed that teams cannot
compute. Unlike the audit of the query format, it does not keep both instances from speaking through the host's kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evaluation.domain.failure_reasons import Reason
from evaluation.formats.curves.models.sandboxed_classifier import (
    ModelAnswers,
    ModelFailedError,
    Numbers,
    SandboxedClassifier,
    as_images,
)

KEPT = 256
"""Questions of a kind that are asked again: a share of 5 % of changed answers is found with a probability of 0.999."""
KEPT_GRADIENTS = 64
"""Fewer gradients, which are as large as images: a share of 10 % is found with a probability of 0.99."""

SCORE_TOLERANCE = 0.01
"""How much a score below the highest one may differ, in units of the median margin: the difference of the two highest.

Sums in another order change float32 scores by 1e-6 of their size, TF32 by 1e-3; attacks decide by margins.
"""
_SCORES_BELOW = 20.0
"""Scores so many median margins below the highest are alike: no loss depends on them."""
GRADIENT_TOLERANCE = 0.05
"""How much a gradient may differ, in units of its L2 norm: a rectifier at its kink may switch."""


class ReplayedQueries:
    """A uniform sample of all that a model was asked, with its answers."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._labels = _Reservoir(KEPT, self._random)
        self._scores = _Reservoir(KEPT, self._random)
        self._gradients = _Reservoir(KEPT_GRADIENTS, self._random)

    def add(self, answers: ModelAnswers) -> None:
        """Add what a model answered."""
        for row, image in enumerate(answers.images):
            if answers.labels is not None:
                self._labels.add(image, np.array(answers.labels[row]))
            if answers.scores is not None:
                self._scores.add(image, answers.scores[row])
            if answers.gradients is not None and answers.weights is not None:
                self._gradients.add(image, answers.gradients[row], answers.weights[row])

    def ask(self, fresh: SandboxedClassifier) -> None:
        """Ask a fresh instance in another order. Raise `ModelFailedError` if too many answers differ.

        Single images may be so near to a boundary that the size of a batch decides: one, and 1 % of the others, may.
        """
        for changed, what in self._changes(fresh):
            count = int(changed.sum())
            if count > 1 + len(changed) // 100:
                raise ModelFailedError(*_failure(count, len(changed), what))

    def _changes(self, fresh: SandboxedClassifier) -> Iterator[tuple[NDArray[np.bool_], str]]:
        """Yield which of the answers of each kind differ, and the kind."""
        if self._labels:
            images, before = self._labels.shuffled()
            yield fresh.labels(as_images(images)).numpy() != before, "label"
        if self._scores:
            images, before = self._scores.shuffled()
            yield fresh.labels(as_images(images)).numpy() != before.argmax(axis=1), _DISAGREE
            yield scores_differ(before, fresh.logits(as_images(images)).numpy()), "scores"
        if self._gradients:
            images, before, weights = self._gradients.shuffled()
            again = fresh.product(as_images(images), torch.from_numpy(weights)) / 255.0
            yield gradients_differ(before, again.permute(0, 2, 3, 1).numpy()), "gradient"


class _Reservoir:
    """A uniform sample of a stream (Vitter 1985, algorithm R)."""

    def __init__(self, size: int, random: np.random.Generator) -> None:
        self._size, self._random, self._seen = size, random, 0
        self._kept: list[tuple[NDArray[np.generic], ...]] = []

    def __bool__(self) -> bool:
        return bool(self._kept)

    def add(self, *columns: NDArray[np.generic]) -> None:
        self._seen += 1
        place = len(self._kept) if len(self._kept) < self._size else int(self._random.integers(self._seen))
        if place < self._size:
            self._kept[place : place + 1] = [tuple(each.copy() for each in columns)]

    def shuffled(self) -> list[Any]:
        """Return an array of each column, with the rows in another order."""
        kept = [self._kept[place] for place in self._random.permutation(len(self._kept))]
        return [np.stack(column) for column in zip(*kept, strict=True)]


_DISAGREE = "label than the highest of its scores"


def _failure(count: int, asked: int, what: str) -> tuple[Reason, str]:
    reason = Reason.SCORES_DISAGREE if what == _DISAGREE else Reason.INCONSISTENT
    return reason, f"{count} of {asked} images got another {what} from a fresh instance"


def scores_differ(before: Numbers, again: Numbers) -> NDArray[np.bool_]:
    """Return which images (n,) got other scores (n, classes): a constant and what decides nothing are left out."""
    first, second = (each.astype(np.float64) - each.max(axis=1, keepdims=True) for each in (before, again))
    unit = float(np.median(-np.partition(first, -2, axis=1)[:, -2]))
    low = -_SCORES_BELOW * unit
    return np.asarray((np.abs(first.clip(low) - second.clip(low)) > SCORE_TOLERANCE * unit).any(axis=1))


def gradients_differ(before: Numbers, again: Numbers) -> NDArray[np.bool_]:
    """Return which images (n,) got other gradients (n, height, width, channels)."""
    first, second = (each.astype(np.float64).reshape(len(each), -1) for each in (before, again))
    length = np.maximum(np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1))
    return np.asarray(np.linalg.norm(first - second, axis=1) > GRADIENT_TOLERANCE * length)
