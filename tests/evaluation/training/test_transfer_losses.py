"""The losses of the networks of the transfer format, against their formulas, and their adversary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.baselines.shared.hinted_unet import HintedUNet, hints
from evaluation.baselines.shared.network import SmallResNet, as_input
from evaluation.baselines.shared.unet import UNet, attacked, denoised
from evaluation.datasets.digits import digits
from evaluation.training.adversary import linf_steps
from evaluation.training.losses import Loss
from evaluation.training.recipes import DENOISERS
from evaluation.training.target_classifiers import NAMES, bundled_targets, hint_source, network_of
from evaluation.training.transfer_losses import AttackNetworkLoss, Guide, GuidedDenoiserLoss

pytestmark = pytest.mark.usefixtures("seeded_torch")

CPU = torch.device("cpu")
EPSILON = 16 / 255


class Constant(nn.Module):
    """A network whose output is one number."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, images: Tensor) -> Tensor:
        return torch.full_like(images, self.value)


@pytest.fixture(scope="module")
def batch() -> tuple[Tensor, Tensor]:
    """Six digits with their labels."""
    samples = digits().samples("validation", 6)
    return as_input(np.stack([sample.image for sample in samples])), torch.tensor([each.label for each in samples])


def test_a_loss_reaches_every_weight_of_the_network_and_none_of_its_targets(batch: tuple[Tensor, Tensor]) -> None:
    images, labels = batch
    targets = bundled_targets()
    assert tuple(target.name for target in targets) == NAMES
    guided = [GuidedDenoiserLoss(targets, guide=guide) for guide in DENOISERS.values()]
    losses: list[tuple[Loss, nn.Module]] = [
        *((loss, UNet()) for loss in guided),
        (AttackNetworkLoss(targets), UNet()),
        (AttackNetworkLoss(targets), HintedUNet(network_of(hint_source(), CPU))),
    ]
    for loss, network in losses:
        value = loss(network, images, labels, 0.5)
        value.backward()  # type: ignore[no-untyped-call]  # untyped in torch
        assert value.item() > 0
        assert all(parameter.grad is not None for parameter in network.parameters())
    assert all(not parameter.requires_grad for parameter in network_of(targets[0], CPU).parameters())


def test_the_denoiser_is_guided_by_the_logits_or_features_of_clean_images_or_by_labels(
    batch: tuple[Tensor, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    images, labels = batch
    monkeypatch.setattr(GuidedDenoiserLoss, "_perturbed", lambda self, networks, images, labels: images)
    base = network_of(bundled_targets()[0], CPU)

    def features(images: Tensor) -> Tensor:
        assert isinstance(base, SmallResNet)
        found: Tensor = base.stage3(base.stage2(base.stage1(base.stem(images))))
        return found

    cases: list[tuple[Guide, Callable[[Tensor], Tensor]]] = [("logits", base), ("features", features)]
    for guide, seen in cases:
        loss = GuidedDenoiserLoss(bundled_targets(), guide=guide)
        assert loss(Constant(0.0), images, labels, 0.5).item() == 0.0
        expected = (seen(images - 0.25) - seen(images)).abs().mean().item()
        assert loss(Constant(0.25), images, labels, 0.5).item() == pytest.approx(expected, rel=1e-5)
    by_labels = GuidedDenoiserLoss(bundled_targets(), guide="labels")(Constant(0.25), images, labels, 0.5)
    torch.testing.assert_close(by_labels, functional.cross_entropy(base(images - 0.25), labels))


def test_the_attack_network_lowers_the_true_class_of_every_target(batch: tuple[Tensor, Tensor]) -> None:
    images, labels = batch
    loss = AttackNetworkLoss(bundled_targets(), smallest_epsilon=16, largest_epsilon=16)
    changed = (images + EPSILON * np.tanh(0.5)).clamp(0, 1)
    expected = 0.0
    for target in bundled_targets():
        true = network_of(target, CPU)(changed).softmax(1).numpy().astype(np.float64)[np.arange(6), labels]
        expected -= np.log(1 - np.minimum(true, 1 - 1e-6)).mean()
    assert loss(Constant(0.5), images, labels, 0.5).item() == pytest.approx(expected, rel=1e-2)


def test_hints_are_the_gradient_of_the_class_that_the_guide_sees(batch: tuple[Tensor, Tensor]) -> None:
    images, _ = batch
    guide = network_of(hint_source(), CPU)
    assert hint_source().name == "adversarial-logit-pairing"
    found = hints(guide, images)
    torch.testing.assert_close(found.std((1, 2, 3)), torch.ones(6))
    with torch.no_grad():
        seen = guide(images).argmax(1)
        moved, back = (functional.cross_entropy(guide(images + sign * 0.001 * found), seen) for sign in (1, -1))
        expected = guide(images)
    assert moved > functional.cross_entropy(expected, seen) > back
    network = HintedUNet(guide).eval()
    assert all(not name.startswith("_guide") for name in network.state_dict())
    shown: list[Tensor] = []
    network.network.register_forward_pre_hook(lambda _network, given: shown.append(given[0]))
    with torch.no_grad():
        network(images)
    torch.testing.assert_close(shown[0], torch.cat([images, found], 1))


def test_an_attacked_image_stays_in_the_ball(batch: tuple[Tensor, Tensor]) -> None:
    images, _ = batch
    changed = attacked(Constant(-9.0), images, EPSILON)
    assert torch.allclose(changed, (images - EPSILON).clamp(min=0), atol=1e-6)
    assert torch.equal(denoised(Constant(0.5), images), images - 0.5)


@pytest.mark.parametrize("steps", [1, 4])
def test_steps_along_the_sign_of_the_gradient_fool_the_networks(batch: tuple[Tensor, Tensor], steps: int) -> None:
    images, labels = batch
    networks = [network_of(target, CPU) for target in bundled_targets()[:1]]
    moved = linf_steps(networks, images, labels, epsilon=EPSILON, steps=steps)
    assert (moved - images).abs().max().item() <= EPSILON + 1e-6
    before, after = (functional.cross_entropy(networks[0](each), labels).item() for each in (images, moved))
    assert after > before + 0.1


@pytest.mark.parametrize(("height", "width"), [(64, 64), (60, 76)])
def test_the_change_has_the_size_of_the_image(height: int, width: int) -> None:
    assert UNet().eval()(torch.zeros(1, 3, height, width)).shape == (1, 3, height, width)
