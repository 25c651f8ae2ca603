"""Certified bounds, against what attacks and exact minima of linear networks show."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.training.adversary import linf_pgd
from evaluation.training.convex_bounds import worst_margins
from evaluation.training.losses import Ball, ConvexLoss

pytestmark = pytest.mark.usefixtures("seeded_torch")

LABELS = torch.tensor([0, 1, 2, 1, 0])


@pytest.fixture
def images() -> Tensor:
    return 0.2 + 0.6 * torch.rand(5, 3, 8, 8)  # no change within the radii leaves the pixel range


def convolutional() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 4, 4, 4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 9), nn.ReLU(),
        nn.Linear(9, 3),
    )  # fmt: skip


def margins(logits: Tensor) -> Tensor:
    return logits.gather(1, LABELS[:, None]) - logits


def test_the_bounds_of_a_linear_network_are_its_exact_minima(images: Tensor) -> None:
    network = nn.Sequential(nn.Flatten(), last := nn.Linear(192, 3))
    rows = last.weight
    lost = 0.1 * (rows[LABELS][:, None] - rows).abs().sum(2)
    torch.testing.assert_close(worst_margins(network, images, LABELS, 0.1), margins(network(images)) - lost)


def test_at_radius_zero_the_bounds_are_the_margins(images: Tensor) -> None:
    network = convolutional()
    torch.testing.assert_close(worst_margins(network, images, LABELS, 0.0), margins(network(images)))


def attacked(network: nn.Module, images: Tensor, other: int, radius: float) -> Tensor:
    """Return images with a small margin over one class."""
    return linf_pgd(network, images, lambda logits: -margins(logits)[:, other].sum(), radius=radius, steps=20)


@pytest.mark.parametrize("radius", [0.01, 0.05, 0.2])
def test_no_change_has_a_margin_below_its_bound(images: Tensor, radius: float) -> None:
    network = convolutional()
    bounds = worst_margins(network, images, LABELS, radius)
    corners = images + radius * torch.randn(200, *images.shape).sign()
    for each in (*(attacked(network, images, other, radius) for other in range(3)), *corners):
        assert (margins(network(each)) >= bounds - 1e-5).all()


def test_a_unit_of_either_sign_is_between_its_lines() -> None:
    unit, logits = nn.Linear(1, 1), nn.Linear(1, 2)
    unit.load_state_dict({"weight": torch.tensor([[1.0]]), "bias": torch.tensor([0.0])})
    logits.load_state_dict({"weight": torch.tensor([[0.0], [1.0]]), "bias": torch.tensor([0.0, 0.0])})
    network = nn.Sequential(nn.Flatten(), unit, nn.ReLU(), logits)
    least = worst_margins(network, torch.full((2, 1, 1, 1), 0.1), torch.tensor([0, 1]), 0.3)
    low, high = -0.2, 0.4
    torch.testing.assert_close(least, torch.tensor([[0.0, -high], [high / (high - low) * low, 0.0]]))


def test_the_loss_is_never_below_that_of_an_attack(images: Tensor) -> None:
    network = convolutional()
    changed = linf_pgd(
        network, images, lambda logits: functional.cross_entropy(logits, LABELS, reduction="sum"), radius=0.05, steps=20
    )
    certified = ConvexLoss(Ball(0.05, steps=1, warm_up=0, norm="linf"))(network, images, LABELS, 1.0)
    assert certified >= functional.cross_entropy(network(changed), LABELS)
