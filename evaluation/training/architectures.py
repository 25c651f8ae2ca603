"""The architectures that `gauntlet train` knows."""

from __future__ import annotations

from torch import nn

from evaluation.baselines.shared.network import CompactResNet, SmallResNet
from evaluation.domain.errors import Refusal
from evaluation.domain.images import ImageShape
from evaluation.formats.curves.defences.cifar_networks import (
    RSE_DRAWS,
    CifarResNet,
    ConvexNet,
    Ensemble,
    MeanOverDraws,
)
from evaluation.training.recipes import ADP, CIFAR_CONVEX, CIFAR_DENOISING, MEMBERS, RSE
from evaluation.training.resnet import resnet18, resnet50

ARCHITECTURES = ("small", "compact", "resnet18", "resnet50")

LEAST_SIDE = 4
"""Pixels of a side of the smallest images for `small`, for `compact`, which sees their halves, and for a filter."""


def build_network(architecture: str, classes: int, noise_level: float, shape: ImageShape) -> nn.Module:
    """Return an untrained network with one of the names in `ARCHITECTURES`.

    Raise `Refusal` for images of a shape that it cannot take.
    """
    if shape.channels != 3 or shape.height != shape.width:
        raise Refusal(
            f"the images have {shape.height} x {shape.width} x {shape.channels} values",
            fix="use a data set of square colour images",
        )
    if architecture == "resnet18":
        return resnet18(classes, noise_level, shape.height)
    if architecture == "resnet50":
        return resnet50(classes, noise_level, shape.height)
    check_side(architecture, shape)
    if noise_level and shape.height != 64:
        raise Refusal(
            f"the noise of --arch {architecture} is made for images of 64 x 64 pixels, these have {shape.height}",
            fix="use --arch resnet18, or another recipe",
        )
    return (CompactResNet if architecture == "compact" else SmallResNet)(classes, noise_level)


def check_side(architecture: str, shape: ImageShape) -> None:
    """Raise `Refusal` for images that are too small for an architecture with a least side."""
    if min(shape.height, shape.width) < LEAST_SIDE:
        raise Refusal(
            f"--arch {architecture} takes images of at least {LEAST_SIDE} x {LEAST_SIDE} pixels, these have "
            f"{shape.height} x {shape.width}",
            fix="use another --arch, or a data set of larger images",
        )


def cifar_network(recipe: str, architecture: str, classes: int, shape: ImageShape) -> nn.Module:
    """Return an untrained network of a recipe and an architecture for CIFAR-10.

    Raise `Refusal` for images that are not 32 x 32 x 3.
    """
    if shape != (32, 32, 3):
        raise Refusal(
            f"--arch {architecture} is made for images of 32 x 32 x 3, these have {' x '.join(map(str, shape))}",
            fix="use another --arch",
        )
    if recipe == ADP:
        return Ensemble(CifarResNet(classes) for _ in range(MEMBERS))
    if recipe == RSE:
        return MeanOverDraws(CifarResNet(classes, noisy=True), RSE_DRAWS)
    if architecture == CIFAR_CONVEX:
        return ConvexNet(classes)
    return CifarResNet(classes, denoising=architecture == CIFAR_DENOISING)
