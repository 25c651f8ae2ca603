"""What is checked before a benchmark begins: that data set and model are as the results will say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from evaluation.domain.errors import Refusal
from evaluation.domain.samples import Sample
from evaluation.formats.curves.models.classifier import Classifier
from evaluation.formats.curves.models.replayed_queries_check import scores_differ
from evaluation.formats.curves.runner.benchmark_run import as_tensor
from evaluation.formats.curves.threat_models import Knowledge

ASKED_TWICE = 20
"""Images about which a model is asked twice."""


def require_samples(samples: Sequence[Sample], classes: int) -> None:
    """Raise `Refusal` unless all images are of 8 bits and one shape, and all labels and targets are classes."""
    shape = samples[0].image.shape
    for sample in samples:
        image = sample.image
        if image.shape != shape or image.dtype != np.uint8 or image.ndim != 3:
            raise Refusal(
                f"image {sample.number} is {image.dtype} {image.shape}, not uint8 {shape} as the first",
                fix="use a data set whose images are all 8-bit, of one height, width and number of channels",
            )
        for what, label in (("label", sample.label), ("target", sample.target)):
            if label is not None and not 0 <= label < classes:
                raise Refusal(
                    f"image {sample.number} has the {what} {label}, and the classes are 0 to {classes - 1}",
                    fix="correct the data set, or declare the CLASSES of the model",
                )


def require_model(model: Classifier, samples: Sequence[Sample]) -> None:
    """Raise `Refusal` if a model fails on the images, changes them, or is random and does not declare it."""
    images = as_tensor(samples[:ASKED_TWICE]).to(model.device)
    given = images.clone()
    try:
        first = _answers(model, images)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:  # what layers raise for images of another shape
        raise Refusal(
            f"{model.name} fails on images of shape {tuple(images.shape[1:])}: {error}",
            fix="name the data set that it is for, or correct its network",
        ) from error
    if not images.equal(given):
        raise Refusal(
            f"{model.name} changes the images that it is given",
            fix="let it work on a copy: x = x - mean, not x -= mean",
        )
    if model.random:
        return
    second = _answers(model, images)
    changed = int((scores_differ(first, second) if first.ndim > 1 else first != second).sum())
    if changed:
        raise Refusal(
            f"{model.name} is random, and does not say so: {changed} of {len(images)} images got another answer when "
            "asked again",
            fix="a Python file declares RANDOM = True, and PASSES for expectation over transformations; a submission "
            "must be a function of one image",
        )


def _answers(model: Classifier, images: Tensor) -> NDArray[Any]:
    """Return the scores of a model, (n, classes), or its labels, (n,), if it offers no more."""
    answers = model.logits(images) if Knowledge.SCORE in model.offers else model.labels(images)
    return np.asarray(answers.cpu().numpy())
