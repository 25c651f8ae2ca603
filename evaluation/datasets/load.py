"""Data set named by the option `--dataset` or by a competition's file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from evaluation.datasets.base import Dataset
from evaluation.datasets.cifar10 import cifar10
from evaluation.datasets.digits import digits
from evaluation.datasets.folder import folder
from evaluation.datasets.nips2017 import nips2017
from evaluation.datasets.prepared_store import is_store, open_store
from evaluation.datasets.released_samples import released
from evaluation.datasets.tiny_imagenet import tiny_imagenet
from evaluation.domain.errors import DatasetRefusal

DATA_VARIABLE = "GAUNTLET_DATA"
"""Environment variable: the folder that holds the data sets named without a path, each in a folder of its name; or one
prepared store."""

TREES: dict[str, Callable[[Path], Dataset]] = {
    "tiny-imagenet": tiny_imagenet,
    "cifar10": cifar10,
    "nips2017": nips2017,
    "folder": folder,
    "released": released,
}
"""Readers of the published layouts."""


def load_dataset(spec: str) -> Dataset:
    """Return the data set named by `spec`: "digits", or "NAME:PATH" with a name of `TREES`.

    PATH holds the data set as published, or a prepared store of it; without PATH it is the folder NAME below
    `$GAUNTLET_DATA`. Raise `DatasetRefusal` if the name is unknown or PATH has another layout.
    """
    if spec == "digits":
        return digits()
    name, _, path = spec.partition(":")
    if name not in TREES or spec in ("folder", "released") or spec.endswith(":"):
        raise DatasetRefusal(
            f"unknown data set {spec!r}", fix="name one of: digits, " + ", ".join(f"{name}:PATH" for name in TREES)
        )
    root = Path(path).expanduser() if path else _default_folder(name)
    return open_store(root, name) if is_store(root) else TREES[name](root)


def _default_folder(name: str) -> Path:
    data = os.environ.get(DATA_VARIABLE, "")
    if not data:
        raise DatasetRefusal(
            f"the folder of {name} is not known",
            fix=f"name it, {name}:PATH, or set {DATA_VARIABLE} to the folder that holds {name}/",
        )
    folder = Path(data).expanduser()
    return folder if is_store(folder) else folder / name
