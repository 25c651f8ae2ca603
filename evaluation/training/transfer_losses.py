"""Losses of the networks of the transfer format: a denoiser before a classifier, and a network that attacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.baselines.shared.network import SmallResNet
from evaluation.baselines.shared.unet import attacked, denoised
from evaluation.training.adversary import linf_steps
from evaluation.training.target_classifiers import Target, network_of

LARGEST_EPSILON = 16
SMALLEST_EPSILON = 4
"""Levels of 0 to 255, as in the competition of 2017."""

_NOISE_SHARE = 0.1
_STEPS = (1, 4)


Guide = Literal["logits", "features", "labels"]
"""What a denoiser is guided by (Liao et al. 2018, section 3.3): LGD, FGD and CGD."""


@dataclass(frozen=True)
class GuidedDenoiserLoss:
    """Guided denoiser (Liao et al. 2018; Kurakin et al. 2018, eq. 13): how the first target sees denoised images.

    By its logits or the features of its topmost convolution, it is their L1 distance between clean and denoised
    adversarial images, as a mean over all values; by labels, the cross-entropy of denoised adversarial images.
    The adversarials of a batch are by the fast gradient sign method or four steps of the iterative one, against one of
    the targets or all of them, with any epsilon up to the largest one; a tenth of the batches has noise instead.
    """

    targets: tuple[Target, ...]
    largest_epsilon: int = LARGEST_EPSILON
    guide: Guide = "logits"

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        networks = [network_of(target, images.device) for target in self.targets]
        base = networks[0]
        clean = denoised(network, self._perturbed(networks, images, labels))
        if self.guide == "labels":
            return functional.cross_entropy(base(clean).float(), labels)
        seen = _features if self.guide == "features" else _logits
        with torch.no_grad():
            wanted = seen(base, images)
        return (seen(base, clean) - wanted).abs().mean()

    def _perturbed(self, networks: list[nn.Module], images: Tensor, labels: Tensor) -> Tensor:
        epsilon = _epsilons(images, 1, self.largest_epsilon)
        if float(torch.rand(())) < _NOISE_SHARE:
            return (images + epsilon * torch.randn_like(images).sign()).clamp(0, 1)
        chosen = int(torch.randint(len(networks) + 1, ()))
        against = networks if chosen == len(networks) else [networks[chosen]]
        steps = _STEPS[int(torch.randint(len(_STEPS), ()))]
        return linf_steps(against, images, labels, epsilon=epsilon, steps=steps)


@dataclass(frozen=True)
class AttackNetworkLoss:
    """Attack network (Kurakin et al. 2018, section 5.7; Baluja and Fischer 2018): trained against several targets.

    For each target the loss is -log(1 - p) of the true class, so that images which already fool it add little; the
    paper maximises the cross-entropy, which has no bound. Epsilon is drawn from the smallest to the largest one.
    """

    targets: tuple[Target, ...]
    smallest_epsilon: int = SMALLEST_EPSILON
    largest_epsilon: int = LARGEST_EPSILON

    def __call__(self, network: nn.Module, images: Tensor, labels: Tensor, done: float, size: float = 1.0) -> Tensor:
        epsilon = _epsilons(images, self.smallest_epsilon, self.largest_epsilon)
        adversarial = attacked(network, images, epsilon)
        losses = [_seen(network_of(target, images.device)(adversarial).float(), labels) for target in self.targets]
        return torch.stack(losses).sum()


def _logits(network: nn.Module, images: Tensor) -> Tensor:
    logits: Tensor = network(images).float()
    return logits


def _features(network: nn.Module, images: Tensor) -> Tensor:
    """Return the output (n, channels, h, w) of the last residual stage of a `SmallResNet`."""
    kept: list[Tensor] = []
    hook = cast(SmallResNet, network).stage3.register_forward_hook(lambda _stage, _given, output: kept.append(output))
    try:
        network(images)
    finally:
        hook.remove()
    return kept[0].float()


def _seen(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean of -log(1 - p) of the true classes."""
    true = logits.softmax(1).gather(1, labels[:, None])
    return -torch.log1p(-true.clamp(max=1 - 1e-6)).mean()


def _epsilons(images: Tensor, smallest: int, largest: int) -> Tensor:
    """Return a drawn epsilon for each image, (n, 1, 1, 1), as a share of 255."""
    return torch.randint(smallest, largest + 1, (len(images), 1, 1, 1), device=images.device) / 255
