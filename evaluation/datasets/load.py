"""From what people type after `--dataset` to a data set."""

from __future__ import annotations

from evaluation.datasets.base import Dataset
from evaluation.datasets.digits import digits
from evaluation.domain.errors import DatasetRefusal


def load_dataset(spec: str) -> Dataset:
    """The data set named by `spec`: "digits"."""
    if spec == "digits":
        return digits()
    raise DatasetRefusal(f"unknown data set {spec!r}", fix="digits")
