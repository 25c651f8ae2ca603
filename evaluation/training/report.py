"""Progress and report of a training run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with completed steps, total steps, and a short text (the loss so far)."""


@dataclass(frozen=True)
class TrainingReport:
    """One finished run. Accuracies are shares from 0 to 1; `weights` is the file's name inside the output folder."""

    recipe: str
    arch: str
    dataset: str
    seed: int
    device: str
    epochs: int
    parameters: int
    train_accuracy: float
    validation_accuracy: float
    weights: str

    def write(self, folder: Path) -> None:
        """Write `training.json` next to the weights; without clock time, so that equal runs write equal files."""
        (folder / "training.json").write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
