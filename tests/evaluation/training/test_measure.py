"""What is measured of a trained network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from evaluation.scoring.distances import worst_case
from evaluation.training.measure import accuracy, robustness

CPU = torch.device("cpu")
IMAGES = np.full((4, 8, 8, 3), 100, np.uint8)
IMAGES[2:] = 200


class Brightness(nn.Module):
    """Answers 1 for images brighter than `limit` (in 0..1), else 0."""

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, images: Tensor) -> Tensor:
        over = 50 * (images.mean((1, 2, 3)) - self.limit)
        return torch.stack([-over, over], dim=1)


def test_the_robustness_of_a_linear_model_is_its_known_distance_to_the_boundary() -> None:
    """The nearest adversarial of a linear model is known: the change of brightness to the limit."""
    found = robustness(Brightness(0.5), IMAGES, np.array([0, 0, 1, 1]), CPU, radius=2.0)
    each = [abs(value / 255 - 0.5) * np.sqrt(8 * 8 * 3) for value in (100, 200)]
    assert found.median_l2 == pytest.approx(np.mean(each), rel=0.05)
    assert found.samples == 4
    assert found.robust_accuracy == 0.5
    assert accuracy(Brightness(0.5), IMAGES, np.array([0, 0, 1, 0]), CPU) == 0.75


def test_images_that_are_labelled_wrong_count_zero() -> None:
    found = robustness(Brightness(0.5), IMAGES, np.array([1, 1, 0, 0]), CPU, radius=2.0)
    assert (found.median_l2, found.median_l2_if_right) == (0, None)
    found = robustness(Brightness(0.5), IMAGES, np.array([1, 1, 0, 1]), CPU, radius=2.0)
    assert found.median_l2 == 0
    assert found.median_l2_if_right == pytest.approx((200 / 255 - 0.5) * np.sqrt(8 * 8 * 3), rel=0.05)


def test_without_an_adversarial_the_grey_image_counts() -> None:
    found = robustness(Brightness(-1000.0), IMAGES, np.ones(4, np.int64), CPU, radius=2.0)
    assert found.median_l2 == pytest.approx(np.median([worst_case(image) for image in IMAGES]))
    assert found.robust_accuracy == 0.5
