"""The adversaries of adversarial training."""

from __future__ import annotations

import pytest
import torch
from foolbox.attacks.ddn import DDNAttack
from foolbox.criteria import Misclassification
from foolbox.models.pytorch import PyTorchModel
from torch import Tensor, nn
from torch.nn import functional

from evaluation.baselines.shared.network import SmallResNet
from evaluation.training.adversary import ddn, l2_pgd, linf_pgd, transferred_until_wrong

LABELS = torch.arange(6)


@pytest.fixture
def network() -> SmallResNet:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return SmallResNet()


@pytest.fixture
def images() -> Tensor:
    return torch.rand(6, 3, 64, 64, generator=torch.Generator().manual_seed(1))


def loss_of(logits: Tensor) -> Tensor:
    return functional.cross_entropy(logits, LABELS, reduction="sum")


def norms(change: Tensor) -> Tensor:
    each: Tensor = change.flatten(1).norm(dim=1)
    return each


def test_projected_gradient_descent_raises_the_loss_within_its_ball(network: SmallResNet, images: Tensor) -> None:
    """Projected gradient descent stays in its ball and in the range, raises the loss, and leaves no trace."""
    network.train()
    perturbed = l2_pgd(network, images, loss_of, radius=2.0, steps=5)
    assert network.training
    assert all(parameter.requires_grad and parameter.grad is None for parameter in network.parameters())
    assert float(norms(perturbed - images).max()) <= 2.0 + 1e-4
    assert 0 <= float(perturbed.min()) <= float(perturbed.max()) <= 1
    network.eval()
    with torch.no_grad():
        assert float(loss_of(network(perturbed))) > float(loss_of(network(images)))


def test_in_linf_no_value_changes_by_more_than_the_radius(network: SmallResNet, images: Tensor) -> None:
    perturbed = linf_pgd(network, images, loss_of, radius=8 / 255, steps=3)
    assert float((perturbed - images).abs().max()) <= 8 / 255 + 1e-6
    assert 0 <= float(perturbed.min()) <= float(perturbed.max()) <= 1
    network.eval()
    with torch.no_grad():
        assert float(loss_of(network(perturbed))) > float(loss_of(network(images)))


def test_ddn_finds_adversarials_as_near_as_another_implementation(network: SmallResNet, images: Tensor) -> None:
    network.eval()
    labels = network(images).argmax(1)
    nearest, found = ddn(network, images, labels, steps=50)
    model = PyTorchModel(network, bounds=(0, 1), device="cpu")
    other, _, success = DDNAttack(steps=50)(model, images, Misclassification(labels), epsilons=None)
    assert found.all()
    assert success.all()
    assert (network(nearest).argmax(1) != labels).all()
    assert (norms(nearest - images) <= norms(other - images) * 1.001).all()


def test_ddn_leaves_images_that_are_labelled_wrong(network: SmallResNet, images: Tensor) -> None:
    network.eval()
    wrong = (network(images).argmax(1) + 1) % 10
    nearest, found = ddn(network, images, wrong, steps=2)
    assert found.all()
    assert torch.equal(nearest, images)


def test_ddn_says_where_it_found_nothing(images: Tensor) -> None:
    class Sure(torch.nn.Module):
        """Answers 0, whatever the image."""

        def forward(self, given: Tensor) -> Tensor:
            return functional.one_hot(torch.zeros(len(given), dtype=torch.long), 10) * 9.0 + given.mean() * 0

    _, found = ddn(Sure(), images, torch.zeros(6, dtype=torch.long), steps=2)
    assert not found.any()


def test_an_image_that_transfers_moves_no_farther_than_the_first_step_at_which_the_attacked_network_errs() -> None:
    source, last = nn.Flatten(), nn.Linear(2, 2)
    attacked = nn.Sequential(nn.Flatten(), last)
    with torch.no_grad():
        last.weight.copy_(torch.eye(2))
        last.bias.copy_(torch.tensor([0.3, 0.0]))  # it errs later than the source, whose gradient is right
    images = torch.tensor([[0.5, 0.4], [0.2, 0.8], [0.9, 0.1]]).view(3, 2, 1, 1)
    labels = torch.zeros(3, dtype=torch.int64)
    moved = transferred_until_wrong(source, attacked, images, labels, size=0.1, steps=4)
    steps = (moved - images).flatten(1).norm(dim=1) / 0.1
    # along (-1, 1) / sqrt(2), the first margin of 0.4 takes 3 steps; the second image was wrong; the third stays right
    torch.testing.assert_close(steps, torch.tensor([3.0, 0.0, 4.0]), rtol=0.01, atol=0.01)
