"""Three small residual networks as one: the weighted sum of their logits (Brendel et al. 2020, section 7.1).

This file needs `network.py` beside it, and nothing from Gauntlet: a bundled submission contains both.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

if TYPE_CHECKING or __package__:
    from evaluation.baselines.shared.network import SmallResNet
else:  # in a submission
    from network import SmallResNet

WEIGHTS = (0.25, 0.25, 0.5)
"""Of the logits of each network."""


class WeightedEnsemble(nn.Module):
    """Logits of images (n, 3, 64, 64) in 0..1: the weighted sum of those of its members."""

    def __init__(self, members: Iterable[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, images: Tensor) -> Tensor:
        logits = [weight * member(images) for weight, member in zip(WEIGHTS, self.members, strict=True)]
        return torch.stack(logits).sum(0)


def load_ensemble(weights: Path) -> WeightedEnsemble:
    """Return the trained ensemble in evaluation mode; the weights say the number of classes."""
    state = load_file(weights)
    ensemble = WeightedEnsemble(SmallResNet(len(state["members.0.head.bias"])) for _ in WEIGHTS)
    ensemble.load_state_dict(state)
    return ensemble.eval()
