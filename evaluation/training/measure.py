"""What a trained network can do: accuracy, and the smallest perturbations of a white-box attack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from evaluation.baselines.shared.network import as_input
from evaluation.domain.images import Images
from evaluation.formats.query.scoring.scores_v1 import interval, resampled_medians
from evaluation.scoring.distances import worst_case
from evaluation.training.adversary import ddn

_BATCH = 25
"""Images at a time: few, for the caches of a processor and for the memory of gradients."""
_DDN_STEPS = 50


@dataclass(frozen=True)
class Robustness:
    """Distances (pixels / 255) of the adversarials of DDN (Rony et al. 2019), a white-box attack, on the first samples.

    As in a match, an image that is labelled wrong as it is counts 0, and one without an adversarial counts as the
    uniform grey image.
    """

    attack: str
    samples: int
    median_l2: float
    interval: tuple[float, float]
    """95 %, by bootstrap over the samples."""
    median_l2_if_right: float | None
    """Of the samples that are labelled right as they are; None if there are none."""
    radius: float
    robust_accuracy: float
    """Share of the samples without an adversarial within `radius`."""


def accuracy(network: nn.Module, images: Images, labels: NDArray[np.int64], device: torch.device) -> float:
    """Return the share of the images (n, h, w, 3) that the network labels right."""
    right = 0
    with torch.inference_mode():
        for start in range(0, len(images), _BATCH):
            batch, truth = _batch(images, labels, start, device)
            right += int((network(batch).argmax(1) == truth).sum())
    return right / len(images)


def robustness(
    network: nn.Module, images: Images, labels: NDArray[np.int64], device: torch.device, *, radius: float
) -> Robustness:
    """Return how near the adversarials of the images (n, h, w, 3) are."""
    found: list[float] = []
    for start in range(0, len(images), _BATCH):
        batch, truth = _batch(images, labels, start, device)
        nearest, adversarial = ddn(network, batch, truth, steps=_DDN_STEPS)
        each = (nearest - batch).flatten(1).norm(dim=1).tolist()
        greys = [worst_case(image) for image in images[start : start + _BATCH]]
        found += [
            min(distance, grey) if success else grey
            for distance, grey, success in zip(each, greys, adversarial.tolist(), strict=True)
        ]
    distances = np.array(found)
    right = distances[distances > 0]
    low, high = interval(resampled_medians(distances[np.newaxis]))
    return Robustness(
        attack=f"DDN, {_DDN_STEPS} steps",
        samples=len(found),
        median_l2=float(np.median(distances)),
        interval=(low, high),
        median_l2_if_right=float(np.median(right)) if len(right) else None,
        radius=radius,
        robust_accuracy=float((distances > radius).mean()),
    )


def _batch(images: Images, labels: NDArray[np.int64], start: int, device: torch.device) -> tuple[Tensor, Tensor]:
    chosen = slice(start, start + _BATCH)
    return as_input(images[chosen]).to(device), torch.from_numpy(labels[chosen]).to(device)
