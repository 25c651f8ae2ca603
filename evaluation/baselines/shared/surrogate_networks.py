"""Surrogates: networks of an attack's own, whose gradients it follows in place of the model's.

Their weights are the files `surrogate-*.safetensors` beside this one. This file needs torch and `network.py`, and
nothing from Gauntlet: a bundled submission contains it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING or __package__:
    from evaluation.baselines.shared.network import as_input, load_network
else:  # in a submission
    from network import as_input, load_network

MARGIN = 0.5
"""By which a surrogate's logit of the true label is at least ahead of the others on the clean image."""

LEAST_SIDE = 4
"""Pixels of a side of the first kernel of the networks: they cannot see smaller images."""

NETWORKS = [
    load_network(file).requires_grad_(False) for file in sorted(Path(__file__).parent.glob("surrogate-*.safetensors"))
]
if not NETWORKS and not __package__:
    print("no weights of surrogates (surrogate-*.safetensors) beside main.py: it goes on without", flush=True)


class Surrogate(nn.Module):
    """A network for images of one channel or three; `bonus` is added to its logits."""

    def __init__(self, network: nn.Module, bonus: Tensor | float = 0.0) -> None:
        super().__init__()
        self._network, self._bonus = network, bonus

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self._network(images.expand(-1, 3, -1, -1)) + self._bonus
        return logits


def surrogates_for(image: NDArray[np.uint8], label: int | None, target: int | None) -> list[Surrogate]:
    """Return the surrogates that know the label, or the target, and take images of this size and number of channels.

    One that is wrong on the image is made right by a bonus for the true label: else nothing could change its answer.
    """
    if image.shape[2] not in (1, 3) or min(image.shape[:2]) < LEAST_SIDE:
        return []
    found = []
    for network in NETWORKS:
        logits = Surrogate(network)(as_input(image[np.newaxis]))[0]
        if max(one for one in (label, target) if one is not None) >= len(logits):
            continue
        bonus = torch.zeros_like(logits)
        if label is not None:
            bonus[label] = torch.clamp(logits.topk(2).values.max() + MARGIN - logits[label], min=0)
        found.append(Surrogate(network, bonus).eval())
    return found


def loss_gradient(
    surrogate: Surrogate, image: NDArray[np.float64], label: int | None, target: int | None
) -> NDArray[np.float64]:
    """Return the gradient (h, w, c) of the surrogate's loss at an image of levels, towards an adversarial."""
    images = torch.from_numpy(image / 255).float().permute(2, 0, 1)[None].requires_grad_()
    loss = functional.cross_entropy(surrogate(images), torch.tensor([label if target is None else target]))
    (gradient,) = torch.autograd.grad(loss, images)
    found: NDArray[np.float64] = gradient[0].permute(1, 2, 0).double().numpy()
    return found if target is None else -found
