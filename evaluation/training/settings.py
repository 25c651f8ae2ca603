"""Options of a training run, and what they have in common for all recipes. It imports no torch."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evaluation.domain.errors import Refusal
from evaluation.training.training_data import TrainingData

NUMPY = "numpy"
"""The recipe of a perceptron, which needs no torch."""


@dataclass(frozen=True)
class Settings:
    """Options of a run; None stands for the recipe's own."""

    recipe: str
    dataset: str
    arch: str = "small"
    seed: int = 0
    device: str = "cpu"
    precision: str = "auto"
    epochs: int | None = None
    batch: int | None = None
    learning_rate: float | None = None
    radius: float | None = None
    steps: int | None = None
    norm: Literal["l2", "linf"] = "l2"
    """Of the adversary's radius."""
    start: Path | None = None
    """Weights to begin with, instead of random ones."""
    images_per_class: int | None = None
    """For a head on frozen features; None for all."""
    robust_samples: int = 200
    validation_samples: int | None = None
    """On how many the accuracy is measured, drawn at random; None for all."""


def decisive(data: TrainingData, settings: Settings, arch: str) -> dict[str, object]:
    """Return what decides the weights of every recipe."""
    return {
        "recipe": settings.recipe,
        "arch": arch,
        "dataset": settings.dataset.partition(":")[0],
        "data_sha256": data.sha256,
        "seed": settings.seed,
    }


def make_folder(out: Path) -> None:
    """Create the folder of weights and report if necessary. Raise `Refusal`."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"cannot write to {out}: {error.strerror}", fix="name another --out") from error


def sha256_of(path: Path) -> str:
    """Return the digest of a file of weights. Raise `Refusal` if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise Refusal(f"cannot read {path}: {error.strerror}", fix="name a file of weights") from error
