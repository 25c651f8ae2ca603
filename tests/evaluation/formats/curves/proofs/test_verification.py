"""Verdicts on images of a proof, by models that two instances of are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from evaluation.domain.images import Images
from evaluation.formats.curves.models.classifier import Classifier, NetworkClassifier
from evaluation.formats.curves.proofs.verification import DeadlineExceededError, Start, verdicts


def images(*values: int) -> Images:
    """Return images of one pixel."""
    return np.array(values, np.uint8).reshape(-1, 1, 1, 1)


class Thresholds(nn.Module):
    """Images brighter than `least` are of class 1; each instance may have its own."""

    def __init__(self, least: float) -> None:
        super().__init__()
        self.least = least

    def forward(self, shown: Tensor) -> Tensor:
        bright = shown.flatten(1).mean(1) * 255 > self.least
        return torch.stack([~bright, bright], dim=1).float()


def instances(*least: float) -> Start:
    """Return what starts instances with these thresholds, one after the other."""
    left = list(least)

    @contextmanager
    def start() -> Iterator[Classifier]:
        yield NetworkClassifier(Thresholds(left.pop(0)), 2)

    return start


CLEAN, CHANGED, LABELS = images(10, 20, 30), images(200, 90, 110), np.array([0, 0, 0])


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (lambda: instances(100, 100), ["adversarial", "right", "adversarial"]),
        (lambda: instances(100, 150), ["adversarial", "right", "inconsistent"]),
        (lambda: instances(15, 100), ["adversarial", "inconsistent", "adversarial"]),
    ],
)
def test_an_image_counts_where_two_instances_agree(start: Callable[[], Start], expected: list[str]) -> None:
    assert verdicts(start(), CHANGED, LABELS, seed=1, seconds=60) == expected


class Remembering(Thresholds):
    """It gives whatever comes after the clean images the label of the clean ones."""

    def __init__(self) -> None:
        super().__init__(100)
        self._clean = {int(each) for each in CLEAN.flat}
        self._seen = False

    def forward(self, shown: Tensor) -> Tensor:
        values = {round(float(each) * 255) for each in shown.flatten()}
        self._seen = self._seen or bool(values & self._clean)
        return super().forward(shown * 0.0 if self._seen else shown)


def test_a_model_that_remembers_clean_images_sees_none_of_them() -> None:
    @contextmanager
    def start() -> Iterator[Classifier]:
        yield NetworkClassifier(Remembering(), 2)

    assert verdicts(start, CHANGED, LABELS, seed=1, seconds=60) == ["adversarial", "right", "adversarial"]


def test_it_ends_at_its_deadline() -> None:
    with pytest.raises(DeadlineExceededError):
        verdicts(instances(100, 100), CHANGED, LABELS, seed=1, seconds=-1)
