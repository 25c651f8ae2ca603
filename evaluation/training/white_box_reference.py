"""How near whole-level adversarials of the bundled networks are, by a white-box attack: what label attacks aim at."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn

from evaluation.baselines.shared import lite_network, network, scaled_lite_network
from evaluation.baselines.shared.smoothed_classifier import SmoothedClassifier
from evaluation.baselines.shared.weighted_ensemble import load_ensemble
from evaluation.domain.images import Images
from evaluation.domain.samples import Sample
from evaluation.scoring.distances import Distances, l2_each
from evaluation.training.adversary import ddn

_BATCH = 10
_STEPS = 100
_STRETCHES = np.geomspace(0.7, 30.0, 40)
"""Factors by which a perturbation is longer before it is rounded.

Rounding erases what is below half a level. Near images lose nearly all of a perturbation, and a longer one keeps its
largest values.
"""


def network_in(repository: Path) -> nn.Module | None:
    """Return the network whose labels a bundled submission gives, in evaluation mode; None if it has none.

    The name of the repository decides: another program may have the same weights behind something without gradients.
    """
    load = _LOADERS.get(repository.name)
    return load(repository / "weights.safetensors") if load else None


def nearest_whole_levels(attacked: nn.Module, samples: Sequence[Sample]) -> Distances:
    """Return the distance of the nearest uint8 image that another label than the true one was found for, (n,).

    DDN (Rony et al. 2019), untargeted; then its perturbation, stretched by several factors and rounded, is looked at.
    Infinity where nothing was found, and 0 where the clean image is labelled wrong.
    """
    found = np.zeros(len(samples))
    right = [place for place, sample in enumerate(samples) if _labels(attacked, sample.image[None])[0] == sample.label]
    for start in range(0, len(right), _BATCH):
        chosen = right[start : start + _BATCH]
        images = np.stack([samples[place].image for place in chosen])
        labels = np.array([samples[place].label for place in chosen])
        batch = network.as_input(images)
        nearest, _ = ddn(attacked, batch, torch.from_numpy(labels), steps=_STEPS)
        change = 255 * (nearest - batch).permute(0, 2, 3, 1).numpy()
        distances = np.full(len(chosen), math.inf)
        for stretch in _STRETCHES:
            rounded = np.clip(np.rint(images + stretch * change), 0, 255).astype(np.uint8)
            wrong = _labels(attacked, rounded) != labels
            distances = np.minimum(distances, np.where(wrong, l2_each(rounded, images), math.inf))
        found[chosen] = distances
    return found


def _network(weights: Path) -> nn.Module:
    noise = any(name.endswith(".noise") for name in load_file(weights))
    return network.load_network(weights, noise_level=float(noise))


def _smoothed(weights: Path) -> nn.Module:
    return SmoothedClassifier(network.load_network(weights)).eval()


def _scaled(name: str) -> Callable[[Path], nn.Module]:
    return lambda weights: scaled_lite_network.load_network(name, weights)


_LOADERS: Mapping[str, Callable[[Path], nn.Module]] = {
    "adversarial-logit-pairing": _network,
    "compact-plain": _network,
    "compact-robust": _network,
    "compact-robust-025": _network,
    "efficientnet-lite0": lite_network.load_network,
    "frozen-noise": _network,
    "mutual-ensemble": load_ensemble,
    "plain-resnet": _network,
    "randomised-smoothing": _smoothed,
    "trades-ensemble": load_ensemble,
} | {name: _scaled(name) for name in scaled_lite_network.VARIANTS}
"""How the networks of bundled models are made of their weights."""


def _labels(attacked: nn.Module, images: Images) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    with torch.inference_mode():
        labels: np.ndarray[tuple[int], np.dtype[np.int64]] = attacked(network.as_input(images)).argmax(1).numpy()
    return labels
