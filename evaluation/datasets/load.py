"""Data set named by the option `--dataset`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evaluation.datasets.base import Dataset
from evaluation.datasets.digits import digits
from evaluation.datasets.folder import folder
from evaluation.datasets.nips2017 import nips2017
from evaluation.datasets.released import released
from evaluation.datasets.tiny_imagenet import tiny_imagenet
from evaluation.domain.errors import DatasetRefusal

_TREES: dict[str, Callable[[Path], Dataset]] = {
    "tiny-imagenet": tiny_imagenet,
    "nips2017": nips2017,
    "folder": folder,
    "released": released,
}


def load_dataset(spec: str) -> Dataset:
    """Return the data set named by `spec`: "digits", "tiny-imagenet:PATH", "nips2017:PATH", "folder:PATH" or
    "released:FILE".

    Raise `DatasetRefusal` if the name is unknown or PATH has another layout.
    """
    if spec == "digits":
        return digits()
    name, _, path = spec.partition(":")
    if name in _TREES and path:
        return _TREES[name](Path(path).expanduser())
    raise DatasetRefusal(
        f"unknown data set {spec!r}", fix="name one of: digits, " + ", ".join(f"{name}:PATH" for name in _TREES)
    )
