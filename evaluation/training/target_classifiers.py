"""Classifiers that guide the training of a denoiser, or that an attack network is trained against."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

import torch
from safetensors.torch import load_file
from torch import nn

from evaluation.baselines.bundled import FOLDER
from evaluation.baselines.shared.network import load_network
from evaluation.formats.curves.defences.catalogue import BUNDLED
from evaluation.formats.curves.defences.catalogue import WEIGHTS as CIFAR_WEIGHTS

NAMES = ("plain-resnet", "adversarial-logit-pairing", "frozen-noise")
"""The bundled classifiers of the digits; the first one is the base network."""

CIFAR_SOURCES = ("natural", "adp")
"""Folders of their weights: a network and an ensemble of three, which no adversary has trained."""


@dataclass(frozen=True)
class Target:
    """A bundled classifier, and the SHA-256 of its weights."""

    name: str
    sha256: str


@cache
def bundled_targets() -> tuple[Target, ...]:
    """Return the classifiers of the digits."""
    return tuple(
        Target(name, hashlib.sha256((FOLDER / name / "weights.safetensors").read_bytes()).hexdigest()) for name in NAMES
    )


def hint_source() -> Target:
    """Return the one whose gradients are the hints of an attack network: an adversarially trained network."""
    return bundled_targets()[1]


@cache
def cifar_sources() -> tuple[Target, ...]:
    """Return the undefended classifiers for CIFAR-10 whose adversarials ensemble adversarial training uses."""
    return tuple(
        Target(name, hashlib.sha256((CIFAR_WEIGHTS / name / "weights.safetensors").read_bytes()).hexdigest())
        for name in CIFAR_SOURCES
    )


@cache
def cifar_network_of(source: Target, device: torch.device) -> nn.Module:
    """Return the network of a source for CIFAR-10 in evaluation mode, with weights that do not learn."""
    with torch.random.fork_rng(devices=[]):
        return BUNDLED[f"cifar10-{source.name}"].make().to(device).eval().requires_grad_(False)


@cache
def network_of(target: Target, device: torch.device) -> nn.Module:
    """Return the network in evaluation mode, with weights that do not learn."""
    weights = FOLDER / target.name / "weights.safetensors"
    noise = any(name.endswith(".noise") for name in load_file(weights))
    # its first weights are drawn, which must not move the draws of a training step
    with torch.random.fork_rng(devices=[]):
        return load_network(weights, noise_level=float(noise)).to(device).requires_grad_(False)
