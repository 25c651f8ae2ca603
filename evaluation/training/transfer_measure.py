"""What the networks of the transfer format can do: the accuracy of the targets on attacked images, by epsilon."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from evaluation.baselines.shared.network import as_input
from evaluation.baselines.shared.unet import attacked, denoised
from evaluation.domain.images import Images
from evaluation.training.adversary import linf_steps
from evaluation.training.measure import accuracy
from evaluation.training.recipes import ATTACK_NETWORKS, DENOISERS
from evaluation.training.target_classifiers import bundled_targets, network_of

EPSILONS = (4, 8, 12, 16)
_STEPS = 10


class DenoisedClassifier(nn.Module):
    """The logits of a classifier behind a denoiser."""

    def __init__(self, denoiser: nn.Module, classifier: nn.Module) -> None:
        super().__init__()
        self.denoiser, self.classifier = denoiser, classifier

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.classifier(denoised(self.denoiser, images))
        return logits


def classifier_with(recipe: str, network: nn.Module, device: torch.device) -> nn.Module | None:
    """Return the classifier that a network is or makes: behind a denoiser the base network, None for an attack."""
    if recipe in ATTACK_NETWORKS:
        return None
    return _denoised(network, device) if recipe in DENOISERS else network


def on_attacked_images(
    recipe: str, network: nn.Module, images: Images, labels: NDArray[np.int64], device: torch.device
) -> Mapping[str, float]:
    """Return accuracies by what was attacked and the epsilon, in words.

    A denoiser meets ten steps of the iterative method against the base network, which do not know of it.
    """
    found = {}
    for epsilon in EPSILONS:
        if recipe in ATTACK_NETWORKS:
            with torch.no_grad():
                changed = _pixels(attacked(network, as_input(images).to(device), epsilon / 255))
            measured = {target.name: network_of(target, device) for target in bundled_targets()}
        else:
            base = _base(device)
            against = as_input(images).to(device), torch.from_numpy(labels).to(device)
            changed = _pixels(linf_steps([base], *against, epsilon=epsilon / 255, steps=_STEPS))
            measured = {"base network": base, "denoised": _denoised(network, device)}
        for name, classifier in measured.items():
            found[f"{name}, epsilon {epsilon}"] = accuracy(classifier, changed, labels, device)
    return found


def _denoised(denoiser: nn.Module, device: torch.device) -> nn.Module:
    # in evaluation mode as a whole: an adversary restores the mode that it found, also that of the shared base network
    return DenoisedClassifier(denoiser, _base(device)).eval()


def _base(device: torch.device) -> nn.Module:
    """Return the network that the denoiser is in front of: it guided the training."""
    return network_of(bundled_targets()[0], device)


def _pixels(images: Tensor) -> Images:
    """Return images (n, 3, h, w) in 0..1 as files hold them."""
    whole: Images = (images * 255).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()
    return whole
