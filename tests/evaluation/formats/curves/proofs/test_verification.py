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


CLEAN, CHANGED, LABELS = images(10, 20, 30, 110), images(200, 90, 110, 200), np.array([0, 0, 0, 0])


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (lambda: instances(100, 100), ["adversarial", "right", "adversarial", "clean-wrong"]),
        (lambda: instances(100, 150), ["adversarial", "right", "inconsistent", "clean-wrong"]),
        (lambda: instances(15, 100), ["adversarial", "clean-wrong", "clean-wrong", "clean-wrong"]),
    ],
)
def test_an_image_counts_where_two_instances_agree(start: Callable[[], Start], expected: list[str]) -> None:
    assert verdicts(start(), CLEAN, CHANGED, LABELS, seed=1, seconds=60) == expected


def test_it_ends_at_its_deadline() -> None:
    with pytest.raises(DeadlineExceededError):
        verdicts(instances(100, 100), CLEAN, CHANGED, LABELS, seed=1, seconds=-1)
