"""Models named in commands."""

from __future__ import annotations

from pathlib import Path

import torch

from evaluation.datasets.base import Dataset
from evaluation.domain.errors import Refusal
from evaluation.formats.curves.defences.catalogue import BUNDLED
from evaluation.formats.curves.models.classifier import Classifier
from evaluation.formats.curves.models.model_file import read_model
from evaluation.formats.curves.models.robustbench_model import PREFIX, load_robustbench


def bundled_for(dataset: Dataset) -> list[str]:
    """Return the names of the bundled models for the images of a data set."""
    return [name for name, each in BUNDLED.items() if each.dataset == dataset.name]


def model_called(name: str, dataset: Dataset, device: torch.device) -> Classifier:
    """Return a bundled model, or the one of a Python file or of RobustBench. Raise `Refusal` if there is none."""
    if name in BUNDLED:
        return BUNDLED[name].load(device)
    if name.endswith(".py"):
        return read_model(Path(name), dataset.classes, device)
    if name.startswith(PREFIX):
        return load_robustbench(name.removeprefix(PREFIX), dataset.name, dataset.classes, device)
    raise Refusal(
        f"there is no bundled model {name!r}",
        fix=f"name a Python file with load(), submission:DIR, robustbench:NAME, or one of: {', '.join(BUNDLED)}",
    )
