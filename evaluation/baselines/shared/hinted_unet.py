"""U-net that sees a gradient beside the image: the hints of an attack network (Kurakin et al. 2018, section 5.7).

The file needs `unet.py` beside it, and nothing from Gauntlet: a bundled submission contains both.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING or __package__:
    from evaluation.baselines.shared.unet import PATCH, Convolution, UNet
else:  # in a submission
    from unet import PATCH, Convolution, UNet


class HintedUNet(nn.Module):
    """A change (n, 3, h, w) of images (n, 3, h, w) in 0..1, from them and the hints of `guide`.

    The guide is a classifier of such images, in evaluation mode and on their device. Its weights are not among those of
    this network.
    """

    def __init__(self, guide: nn.Module) -> None:
        super().__init__()
        self.network = UNet()
        channels = self.network.head.in_channels
        self.network.down1 = nn.Sequential(Convolution(6 * PATCH**2, channels), Convolution(channels, channels))
        self._guide = (guide,)  # not a module of this one

    def forward(self, images: Tensor) -> Tensor:
        change: Tensor = self.network(torch.cat([images, hints(self._guide[0], images)], dim=1))
        return change


def hints(guide: nn.Module, images: Tensor) -> Tensor:
    """Return the gradient (n, 3, h, w) of the guide's loss for the class that it sees, divided by its deviation."""
    images = images.detach().requires_grad_(True)
    with torch.enable_grad():
        logits = guide(images).float()
        loss = functional.cross_entropy(logits, logits.argmax(1), reduction="sum")
        (gradient,) = torch.autograd.grad(loss, images)
    deviation: Tensor = gradient.std((1, 2, 3), keepdim=True).clamp(min=1e-12)
    return gradient / deviation


def load_hinted_unet(weights: Path, guide: nn.Module) -> HintedUNet:
    """Return the trained network in evaluation mode and single precision."""
    network = HintedUNet(guide)
    counts = {name: torch.tensor(0) for name in network.state_dict() if name.endswith("num_batches_tracked")}
    network.load_state_dict(counts | load_file(weights))
    return network.eval()
