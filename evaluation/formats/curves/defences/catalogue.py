"""The bundled models of the benchmark."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import nn

from evaluation.baselines.bundled import DIGITS, FOLDER
from evaluation.baselines.shared import network
from evaluation.formats.curves.models.classifier import Classifier, NetworkClassifier
from evaluation.formats.curves.models.model_file import digest_of


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


def _small_network(folder: str, noise_level: float = 0.0) -> Callable[[], nn.Module]:
    return lambda: network.load_network(FOLDER / folder / "weights.safetensors", noise_level=noise_level)


_DIGITS = (
    BundledModel("plain-resnet", "none", DIGITS, 10, _small_network("plain-resnet")),
    BundledModel(
        "adversarial-logit-pairing", "adversarial logit pairing, L2", DIGITS, 10,
        _small_network("adversarial-logit-pairing"),
    ),
    BundledModel("frozen-noise", "noise drawn once", DIGITS, 10, _small_network("frozen-noise", noise_level=0.5)),
)  # fmt: skip

BUNDLED: Mapping[str, BundledModel] = {each.name: each for each in _DIGITS}
"""All bundled models by name."""
