"""Complete ResNet-18 and ResNet-50 (He et al. 2016, table 1), for Tiny ImageNet and a GPU."""

from __future__ import annotations

from torch import Tensor, nn

from evaluation.baselines.shared.network import FrozenNoise


class _Basic(nn.Module):
    """Two 3 x 3 convolutions with a shortcut."""

    expansion = 1

    def __init__(self, channels_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(channels_in, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.shortcut = _shortcut(channels_in, width, stride)
        self.out = nn.ReLU()

    def forward(self, activations: Tensor) -> Tensor:
        result: Tensor = self.out(self.inner(activations) + self.shortcut(activations))
        return result


class _Bottleneck(nn.Module):
    """A 3 x 3 convolution between two of 1 x 1, with a shortcut; four times as wide at its ends."""

    expansion = 4

    def __init__(self, channels_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(channels_in, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 4 * width, 1, bias=False),
            nn.BatchNorm2d(4 * width),
        )
        self.shortcut = _shortcut(channels_in, 4 * width, stride)
        self.out = nn.ReLU()

    def forward(self, activations: Tensor) -> Tensor:
        result: Tensor = self.out(self.inner(activations) + self.shortcut(activations))
        return result


def _shortcut(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    if stride == 1 and channels_in == channels_out:
        return nn.Identity()
    return nn.Sequential(nn.Conv2d(channels_in, channels_out, 1, stride, bias=False), nn.BatchNorm2d(channels_out))


class ResNet(nn.Module):
    """Logits (n, classes) of images (n, 3, h, w) in 0..1; `blocks` counts the blocks of the four stages.

    With a noise level, frozen noise follows each stage, and images must be of `side` x `side` pixels.
    """

    def __init__(
        self,
        block: type[_Basic | _Bottleneck],
        blocks: tuple[int, int, int, int],
        classes: int,
        noise_level: float,
        side: int,
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        layers: list[nn.Module] = []
        channels = 64
        for stage, count in enumerate(blocks):
            width = 64 << stage
            for index in range(count):
                layers.append(block(channels, width, 2 if stage and index == 0 else 1))
                channels = width * block.expansion
            if noise_level:
                cells = -(-side // (4 << stage))  # strides round up
                layers.append(FrozenNoise((channels, cells, cells), noise_level))
        self.stages = nn.Sequential(*layers)
        self.head = nn.Linear(channels, classes)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.head(self.stages(self.stem(images)).mean((2, 3)))
        return logits


def resnet18(classes: int, noise_level: float = 0.0, side: int = 64) -> ResNet:
    """Return ResNet-18: 11.2 million weights and the head."""
    return ResNet(_Basic, (2, 2, 2, 2), classes, noise_level, side)


def resnet50(classes: int, noise_level: float = 0.0, side: int = 64) -> ResNet:
    """Return ResNet-50: 23.5 million weights and the head."""
    return ResNet(_Bottleneck, (3, 4, 6, 3), classes, noise_level, side)
