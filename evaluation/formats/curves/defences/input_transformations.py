"""Defences that change the images before a network sees them.

Where a change is not differentiable its gradient is taken to be the identity (BPDA: Athalye et al. 2018, section 4.1.1,
and the authors' code of Dong et al. 2020), so that white-box attacks are adaptive.
"""

from __future__ import annotations

import io
from abc import abstractmethod

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional


class InputTransformation(nn.Module):
    """A network behind a change of its images (n, 3, height, width) in 0..1, with the identity as its gradient."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    @abstractmethod
    def transform(self, images: Tensor) -> Tensor:
        """Return the changed images."""

    def forward(self, images: Tensor) -> Tensor:
        with torch.no_grad():
            change = self.transform(images) - images
        logits: Tensor = self.network(images + change)
        return logits


class Jpeg(InputTransformation):
    """JPEG compression (Dziugaite et al. 2016). The authors' code has quality 95 for CIFAR-10 and 75 for ImageNet."""

    def __init__(self, network: nn.Module, quality: int) -> None:
        super().__init__(network)
        self.quality = quality

    def transform(self, images: Tensor) -> Tensor:
        pixels = images.mul(255).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()
        changed = np.stack([self._compressed(each) for each in pixels])
        return torch.from_numpy(changed).permute(0, 3, 1, 2).to(images) / 255

    def _compressed(self, pixels: np.ndarray) -> np.ndarray:
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "JPEG", quality=self.quality)
        with Image.open(file) as image:
            return np.asarray(image)


class BitReduction(InputTransformation):
    """Fewer levels of each value (Xu et al. 2018). The authors' code has 4 levels, for ImageNet."""

    def __init__(self, network: nn.Module, levels: int) -> None:
        super().__init__(network)
        self.levels = levels

    def transform(self, images: Tensor) -> Tensor:
        return images.mul(self.levels - 1).round() / (self.levels - 1)


class ResizeAndPad(nn.Module):
    """Random resizing and padding (Xie et al. 2018), one draw for a batch; it is differentiable.

    The side is drawn from `smallest`, a share of the whole one, to the whole, by nearest neighbours; black fills the
    rest at a random place (authors' code of Dong et al. 2020: 0.875).
    """

    def __init__(self, network: nn.Module, smallest: float = 0.875) -> None:
        super().__init__()
        self.network, self.smallest = network, smallest

    def forward(self, images: Tensor) -> Tensor:
        whole = images.shape[-1]
        side = int(torch.randint(round(self.smallest * whole), whole + 1, ()))
        left, top = (int(torch.randint(whole - side + 1, ())) for _ in range(2))
        resized = functional.interpolate(images, size=(side, side), mode="nearest")
        logits: Tensor = self.network(functional.pad(resized, (left, whole - side - left, top, whole - side - top)))
        return logits


class RandMix(InputTransformation):
    """Randomised discretisation (Zhang and Liang 2019): noise, then each pixel becomes the nearest of a few colours.

    The colours are drawn from `drawn` random pixels of the noisy image, each with a probability proportional to its
    squared distance from those chosen before (k-means++). The authors' code of Dong et al. 2020 has 5 of 100 pixels and
    noise of 32 / 255 for images in -1..1: half of it here.
    """

    def __init__(self, network: nn.Module, colours: int = 5, drawn: int = 100, noise: float = 16 / 255) -> None:
        super().__init__(network)
        self.colours, self.drawn, self.noise = colours, drawn, noise

    def transform(self, images: Tensor) -> Tensor:
        noisy = (images + self.noise * torch.randn_like(images)).flatten(2).transpose(1, 2)
        places = torch.randint(noisy.shape[1], (len(images), self.drawn), device=images.device)
        candidates = noisy.gather(1, places[..., None].expand(-1, -1, 3))
        palette = candidates[:, :1]
        while palette.shape[1] < self.colours:
            nearest = torch.cdist(candidates, palette).amin(2).square() + 1e-12
            chosen = torch.multinomial(nearest, 1)[..., None].expand(-1, -1, 3)
            palette = torch.cat([palette, candidates.gather(1, chosen)], dim=1)
        of_pixel = torch.cdist(noisy, palette).argmin(2)[..., None].expand(-1, -1, 3)
        return palette.gather(1, of_pixel).transpose(1, 2).reshape(images.shape)
