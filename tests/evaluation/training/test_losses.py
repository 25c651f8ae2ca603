"""The losses of the recipes, against their formulas written out in numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from evaluation.baselines.shared.weighted_ensemble import WeightedEnsemble
from evaluation.formats.curves.defences.cifar_networks import Ensemble
from evaluation.training.adversary import ddn, l2_pgd, linf_pgd, transferred_until_wrong
from evaluation.training.losses import (
    Ball,
    DdnLoss,
    DeepDefenseLoss,
    DiversityLoss,
    LogitPairingLoss,
    Loss,
    MembersLoss,
    MutualLoss,
    NoisyImagesLoss,
    PgdLoss,
    PlainLoss,
    TradesLoss,
)

pytestmark = pytest.mark.usefixtures("seeded_torch")

BALL = Ball(radius=0.5, steps=2, warm_up=0)
LABELS = torch.tensor([0, 1, 2, 1])


@pytest.fixture
def network() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.Tanh(), nn.Linear(8, 3))


@pytest.fixture
def images() -> Tensor:
    return torch.rand(4, 3, 4, 4)


def logits_of(network: nn.Module, images: Tensor) -> NDArray[np.float64]:
    with torch.no_grad():
        logits: NDArray[np.float64] = network(images).double().numpy()
    return logits


def shares(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits)
    each: NDArray[np.float64] = powers / powers.sum(1, keepdims=True)
    return each


def cross_entropy(logits: NDArray[np.float64]) -> float:
    return float(-np.log(shares(logits)[np.arange(4), LABELS]).mean())


def adversarial(network: nn.Module, images: Tensor, objective: Callable[[Tensor], Tensor]) -> Tensor:
    torch.manual_seed(1)
    return l2_pgd(network, images, objective, radius=0.5, steps=2)


def against(logits: Tensor) -> Tensor:
    return functional.cross_entropy(logits, LABELS, reduction="sum")


def value(loss: Loss, network: nn.Module, images: Tensor) -> float:
    torch.manual_seed(1)
    return float(loss(network, images, LABELS, 1.0).detach())


def test_the_plain_loss_is_cross_entropy_with_or_without_smoothing(network: nn.Module, images: Tensor) -> None:
    """Without an adversary: cross-entropy, and with smoothing a share of the mean over all classes."""
    logits = logits_of(network, images)
    assert value(PlainLoss(), network, images) == pytest.approx(cross_entropy(logits), rel=1e-5)
    smooth = 0.9 * cross_entropy(logits) - 0.1 * np.log(shares(logits)).mean()
    assert value(PlainLoss(0.1), network, images) == pytest.approx(smooth, rel=1e-5)


def test_pgd_learns_from_adversarials_alone(network: nn.Module, images: Tensor) -> None:
    expected = cross_entropy(logits_of(network, adversarial(network, images, against)))
    assert expected > cross_entropy(logits_of(network, images))
    assert value(PgdLoss(BALL), network, images) == pytest.approx(expected, rel=1e-5)


def test_logit_pairing_adds_the_squared_difference_of_logits(network: nn.Module, images: Tensor) -> None:
    clean, moved = logits_of(network, images), logits_of(network, adversarial(network, images, against))
    expected = (cross_entropy(clean) + cross_entropy(moved)) / 2 + 0.5 * np.mean((clean - moved) ** 2)
    assert value(LogitPairingLoss(BALL, pairing=0.5), network, images) == pytest.approx(expected, rel=1e-5)


def test_trades_adds_the_divergence_from_the_clean_answers(network: nn.Module, images: Tensor) -> None:
    clean = logits_of(network, images)
    p = torch.from_numpy(shares(clean)).float()
    moved = adversarial(network, images, lambda logits: (p * (p.log() - logits.log_softmax(1))).sum())
    q = shares(logits_of(network, moved))
    divergence = (shares(clean) * np.log(shares(clean) / q)).sum(1).mean()
    assert divergence > 0
    expected = cross_entropy(clean) + 6 * divergence
    assert value(TradesLoss(BALL, weight=6.0), network, images) == pytest.approx(expected, rel=1e-4)


def test_members_of_an_ensemble_learn_each_for_itself(network: nn.Module, images: Tensor) -> None:
    """The gradients of a member are those of the loss without the others."""
    others = [nn.Sequential(nn.Flatten(), nn.Linear(48, 3)) for _ in range(2)]
    learned = list(network.parameters())
    together = MembersLoss(PlainLoss())(WeightedEnsemble([network, *others]), images, LABELS, 1.0)
    alone = PlainLoss()(network, images, LABELS, 1.0)
    torch.testing.assert_close(torch.autograd.grad(together, learned), torch.autograd.grad(alone, learned))


def test_members_of_a_mutual_ensemble_learn_from_black_box_adversarials_and_the_answers_of_the_others(
    network: nn.Module, images: Tensor
) -> None:
    """The value is the sum over the members; the gradients of a member are those of its own part."""
    other = nn.Sequential(nn.Flatten(), nn.Linear(48, 3))
    torch.manual_seed(1)
    parts = []
    for member, source in ((network, other), (other, network)):
        torch.randint(1, ())  # the one other member is drawn
        own = l2_pgd(member, images, against, radius=0.5, steps=2)
        black_box = transferred_until_wrong(source, member, images, LABELS, size=0.05, steps=10)
        logits = [member(own), member(black_box)]
        q = source(images).softmax(1).detach()
        divergence = (q * (q.log() - logits[0].log_softmax(1))).sum(1).mean()
        parts.append(sum(functional.cross_entropy(each, LABELS) for each in logits) / 2 + 3 * divergence)
    torch.manual_seed(1)
    found = MutualLoss(BALL, weight=3.0)(_Members([network, other]), images, LABELS, 1.0)
    torch.testing.assert_close(found, parts[0] + parts[1])
    learned = list(network.parameters())
    torch.testing.assert_close(torch.autograd.grad(found, learned), torch.autograd.grad(parts[0], learned))


class _Members(nn.Module):
    """Two members; a `WeightedEnsemble` has three."""

    def __init__(self, members: list[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)


def test_a_network_for_smoothing_learns_from_images_with_noise(network: nn.Module, images: Tensor) -> None:
    torch.manual_seed(1)
    noisy = images + 0.25 * torch.randn_like(images)
    expected = cross_entropy(logits_of(network, noisy))
    assert value(NoisyImagesLoss(0.25), network, images) == pytest.approx(expected, rel=1e-5)


def test_an_adversary_in_linf_has_its_radius_for_every_value(network: nn.Module, images: Tensor) -> None:
    torch.manual_seed(1)
    moved = linf_pgd(network, images, against, radius=0.1, steps=2)
    expected = cross_entropy(logits_of(network, moved))
    assert value(PgdLoss(Ball(0.1, 2, warm_up=0, norm="linf")), network, images) == pytest.approx(expected, rel=1e-5)


def test_diversity_training_rewards_members_whose_wrong_answers_differ(images: Tensor) -> None:
    members = [nn.Sequential(nn.Flatten(), nn.Linear(48, 3)) for _ in range(2)]
    logits = [logits_of(member, images) for member in members]
    answers = np.stack([shares(each) for each in logits])
    mean = answers.mean(0)
    expected = sum(cross_entropy(each) for each in logits) + 2.0 * (mean * np.log(mean)).sum(1).mean()
    for image, label in enumerate(LABELS.tolist()):
        wrong = np.delete(answers[:, image], label, axis=1)
        wrong /= np.linalg.norm(wrong, axis=1, keepdims=True)
        expected -= 0.5 * np.log(np.linalg.det(wrong @ wrong.T) + 1e-6) / len(LABELS)
    assert value(DiversityLoss(entropy=2.0, diversity=0.5), Ensemble(members), images) == pytest.approx(
        expected, rel=1e-2
    )


def test_deep_defense_penalises_a_near_boundary_of_right_images_and_a_far_one_of_wrong_images(images: Tensor) -> None:
    network = nn.Sequential(nn.Flatten(), last := nn.Linear(48, 3))
    logits, weight = logits_of(network, images), last.weight.detach().double().numpy()
    penalties = []
    for image, label in enumerate(LABELS.tolist()):
        other = max({0, 1, 2} - {label}, key=logits[image].__getitem__)
        lead = logits[image, other] - logits[image, label]
        ratio = abs(lead) / np.linalg.norm(weight[other] - weight[label]) / np.linalg.norm(images[image])
        penalties.append(np.exp(-25 * ratio if lead < 0 else 5 * ratio))
    assert min(penalties) < 1 < max(penalties)
    expected = cross_entropy(logits) + 15 * np.mean(penalties)
    assert value(DeepDefenseLoss(), network, images) == pytest.approx(expected, rel=1e-4)


def test_deep_defense_learns_from_how_the_perturbation_was_made(network: nn.Module, images: Tensor) -> None:
    loss, images, weight = DeepDefenseLoss(), images.double(), next(network.double().parameters())
    (gradient,) = torch.autograd.grad(loss(network, images, LABELS, 1.0), [weight])
    direction, small = torch.randn_like(weight), 1e-5
    weight.data += small * direction
    above = loss(network, images, LABELS, 1.0)
    weight.data -= 2 * small * direction
    slope = (above - loss(network, images, LABELS, 1.0)) / (2 * small)
    torch.testing.assert_close(slope, (gradient * direction).sum(), rtol=0.01, atol=0.0)


def test_ddn_learns_from_the_nearest_adversarials_in_the_ball(network: nn.Module, images: Tensor) -> None:
    nearest, _ = ddn(network, images, LABELS, steps=2, first_norm=0.5)
    change = nearest - images
    norms = change.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
    moved = torch.where(norms > 0.5, images + change * 0.5 / norms.clamp(min=1e-9), nearest)
    expected = cross_entropy(logits_of(network, moved))
    assert value(DdnLoss(BALL), network, images) == pytest.approx(expected, rel=1e-4)


def test_the_radius_grows() -> None:
    ball = Ball(radius=2.0, steps=1, warm_up=0.5)
    assert ball.at(0.0) < ball.at(0.25) < ball.at(0.5) == ball.at(1.0) == 2.0


def test_the_radius_of_images_of_half_the_height_is_half_as_large(network: nn.Module, images: Tensor) -> None:
    torch.manual_seed(1)
    half = PgdLoss(Ball(radius=1.0, steps=2, warm_up=0))(network, images, LABELS, 1.0, 0.5)
    assert float(half.detach()) == pytest.approx(value(PgdLoss(BALL), network, images))


def test_no_gradient_flows_through_the_adversary(network: nn.Module, images: Tensor) -> None:
    """The weights learn from the adversarial as it is, not from how it was made."""
    torch.manual_seed(1)
    learned = torch.autograd.grad(PgdLoss(BALL)(network, images, LABELS, 1.0), list(network.parameters()))
    moved = adversarial(network, images, against)
    expected = torch.autograd.grad(functional.cross_entropy(network(moved), LABELS), list(network.parameters()))
    assert all(torch.equal(first, second) for first, second in zip(learned, expected, strict=True))


def test_diversity_training_is_finite_in_16_bits_where_members_answer_alike(images: Tensor) -> None:
    member = nn.Sequential(nn.Flatten(), nn.Linear(48, 3))
    with torch.autocast("cpu", torch.bfloat16):
        assert np.isfinite(value(DiversityLoss(), Ensemble([member, member]), images))
