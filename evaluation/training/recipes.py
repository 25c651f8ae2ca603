"""Recipes: how each kind of network is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from evaluation.training.augmentation import Augmentation, CropAndFlip, Warp
from evaluation.training.losses import (
    Ball,
    ConvexLoss,
    DdnLoss,
    DeepDefenseLoss,
    DiversityLoss,
    EnsembleLoss,
    LogitPairingLoss,
    Loss,
    MembersLoss,
    MutualLoss,
    NoisyImagesLoss,
    PgdLoss,
    PlainLoss,
    TradesLoss,
)
from evaluation.training.target_classifiers import bundled_targets, cifar_sources
from evaluation.training.transfer_losses import AttackNetworkLoss, Guide, GuidedDenoiserLoss

ENSEMBLE_AT = "ensemble-at"
"""Ensemble adversarial training: adversarials of bundled networks for CIFAR-10, and of the network itself."""

TRADES_ENSEMBLE = "trades-ensemble"
"""Three small networks that TRADES has trained, as one (Brendel et al. 2020, section 7.1)."""

MUTUAL_ENSEMBLE = "mutual-ensemble"
"""Three small networks that mutual adversarial training has trained, as one (Brendel et al. 2020, section 7.2)."""

ENSEMBLES = (TRADES_ENSEMBLE, MUTUAL_ENSEMBLE)
"""Recipes of a `WeightedEnsemble`."""

RANDOMISED_SMOOTHING = "randomised-smoothing"
"""A network for images with noise, under which a `SmoothedClassifier` lets it vote."""

ADVERSARIAL = ("logit-pairing", "pgd", "trades", *ENSEMBLES, "ddn", ENSEMBLE_AT)
"""Recipes with an adversary: they have a radius and gradient steps."""

CONVEX = "convex"
"""Training on bounds of the worst change, which only `CIFAR_CONVEX` has: it has a radius, and no gradient steps."""

LINF_RECIPES = ("logit-pairing", "pgd", "trades", ENSEMBLE_AT, CONVEX)
"""Recipes whose changes may be bounded in L-inf."""

NETWORK_RECIPES = ("plain", "noise", "logit-pairing", "pgd", "trades", "ddn")

SMALL_RECIPES = (*ENSEMBLES, RANDOMISED_SMOOTHING)
"""Recipes for the architecture `small` alone."""

CIFAR_RESNET, CIFAR_DENOISING, CIFAR_CONVEX = "cifar-resnet", "cifar-denoising", "cifar-convex"
CIFAR_ARCHITECTURES = (CIFAR_RESNET, CIFAR_DENOISING, CIFAR_CONVEX)
"""The architectures for CIFAR-10: the network of the defences, the same with feature denoising, and one with bounds."""

ADP, RSE, DEEP_DEFENSE = "adp", "rse", "deep-defense"
CIFAR_RECIPES = (ADP, RSE, ENSEMBLE_AT, DEEP_DEFENSE)
"""Recipes for the first alone: adaptive diversity promoting training of three networks, random self-ensemble,
ensemble adversarial training, and DeepDefense, which begins with trained weights."""

MEMBERS = 3
"""Networks of the recipe adp."""

DENOISERS: Mapping[str, Guide] = {
    "guided-denoiser": "logits",
    "feature-guided-denoiser": "features",
    "class-guided-denoiser": "labels",
}
"""Recipes of a denoiser, and what guides it."""

HINTED_ATTACK_NETWORK = "hinted-attack-network"
ATTACK_NETWORKS = ("attack-network", HINTED_ATTACK_NETWORK)
"""Recipes of a network that changes images; the second one also sees the gradient of a classifier."""

TRANSFER_RECIPES = (*DENOISERS, *ATTACK_NETWORKS)
"""Recipes of the transfer format: the network is no classifier, and its architecture is `unet`."""

NOISE_LEVEL = 0.5
"""Standard deviation of the noise that the recipe `noise` adds to activations."""

SMOOTHING = 0.1
"""Label smoothing of the networks for photographs (Szegedy et al. 2016, section 7)."""


@dataclass(frozen=True)
class TrainingRecipe:
    """Training parameters of a network: SGD with Nesterov momentum, or AdamW, under a one-cycle learning rate."""

    loss: Loss
    epochs: int
    batch: int
    learning_rate: float
    augmentation: Augmentation
    noise_level: float = 0.0
    half_size: float = 0.0
    """Share of the training, from its beginning, with images of half their height and width: cheap first steps."""
    weight_decay: float = 5e-4
    momentum: float = 0.9
    optimiser: Literal["sgd", "adamw"] = "sgd"


def recipe_for(
    name: str, architecture: str, *, radius: float | None, steps: int | None, norm: Literal["l2", "linf"] = "l2"
) -> TrainingRecipe:
    """Return the recipe of this name; with None, the adversary has the radius and the steps of the recipe.

    The small network is for some hundred digits, the compact one for photographs and the one for CIFAR-10 on a CPU, the
    others for a GPU.
    """
    if name in DENOISERS:
        loss: Loss = GuidedDenoiserLoss(bundled_targets(), guide=DENOISERS[name])
        return TrainingRecipe(loss, 30, 64, 2e-3, Warp(), optimiser="adamw")
    if name in ATTACK_NETWORKS:
        return TrainingRecipe(AttackNetworkLoss(bundled_targets()), 60, 64, 6e-3, Warp(), optimiser="adamw")
    if architecture in CIFAR_ARCHITECTURES:
        own_steps = {ENSEMBLE_AT: 1, CONVEX: 0}.get(name, 3)
        linf = 2 / 255 if name == CONVEX else 8 / 255
        return _cifar_recipe(name, Ball(radius or (1.0 if norm == "l2" else linf), steps or own_steps, norm=norm))
    small = architecture == "small"
    ball = Ball(radius or (7.0 if small else 1.0), steps or (20 if name == "ddn" else 5))
    loss = _loss(name, ball, 0.0 if small else SMOOTHING)
    noise = NOISE_LEVEL if name == "noise" else 0.0
    if small:
        return TrainingRecipe(loss, 80, 64, 0.15, Warp(), noise_level=noise)
    if architecture == "compact":
        return TrainingRecipe(loss, 20, 128, 0.2, CropAndFlip(), noise_level=noise, half_size=0.75)
    return TrainingRecipe(loss, 60, 256, 0.2, CropAndFlip(), noise_level=noise)


def _cifar_recipe(name: str, ball: Ball) -> TrainingRecipe:
    """Return a recipe for the small network for CIFAR-10: minutes on one CPU thread in bfloat16."""
    if name == ADP:
        loss: Loss = DiversityLoss()
    elif name == ENSEMBLE_AT:
        loss = EnsembleLoss(ball, cifar_sources())
    elif name == CONVEX:
        return TrainingRecipe(ConvexLoss(ball), 4, 64, 0.02, CropAndFlip())
    elif name == DEEP_DEFENSE:
        return TrainingRecipe(DeepDefenseLoss(), 1, 128, 0.002, CropAndFlip())
    else:
        loss = _loss(name, ball, 0.0)
    return TrainingRecipe(loss, 8, 128, 0.2, CropAndFlip())


def _loss(name: str, ball: Ball, smoothing: float) -> Loss:
    if name == "logit-pairing":
        return LogitPairingLoss(ball, smoothing=smoothing)
    if name == "pgd":
        return PgdLoss(ball, smoothing)
    if name == "trades":
        return TradesLoss(ball, smoothing=smoothing)
    if name == TRADES_ENSEMBLE:
        return MembersLoss(TradesLoss(ball, smoothing=smoothing))
    if name == MUTUAL_ENSEMBLE:
        return MutualLoss(ball)
    if name == RANDOMISED_SMOOTHING:
        return NoisyImagesLoss()
    if name == "ddn":
        return DdnLoss(ball, smoothing)
    return PlainLoss(smoothing)
