"""Progress and report of a training run."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from evaluation.training.measure import Robustness  # it imports torch, which the recipe numpy does not need

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with completed steps, total steps, and a short text: what is done, or the loss so far, or nothing new."""

REPORT = "training.json"


@dataclass(frozen=True)
class TrainingReport:
    """One finished run. Accuracies are shares from 0 to 1, of the weights as they were written."""

    command: str
    settings: Mapping[str, object]
    """What decides the weights: on the same host, the same settings give the same ones."""
    host: Mapping[str, object]
    parameters: int
    train_accuracy: float | None
    """On images from all over the training set, as many as for validation; None if it is no classifier."""
    validation_accuracy: float | None
    validation_images: int
    robustness: Robustness | None
    seconds: float
    """Of training, in all runs that worked on it."""
    continued: str
    """Empty, or why the weights may differ from those of an uninterrupted run."""
    weights: str
    weights_sha256: str
    on_attacked_images: Mapping[str, float] = field(default_factory=dict)
    """Accuracies on attacked validation images, by classifier and epsilon; empty for recipes of the query format."""

    def write(self, folder: Path) -> None:
        """Write the report next to the weights."""
        (folder / REPORT).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def host(*, device: str, threads: int, libraries: Sequence[str] = ("torch", "numpy")) -> dict[str, object]:
    """Return what equal bits depend on, besides the settings; `libraries` are those that compute the weights."""
    return {
        "device": device,
        "threads": threads,
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in libraries},
    }
