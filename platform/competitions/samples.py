"""Adapter: sample sets between the engine's data sets and the object store."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from core import store
from core.errors import Fault, Refusal
from evaluation.datasets.base import with_targets
from evaluation.datasets.load import load_dataset
from evaluation.domain.samples import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from competitions.models import SampleSet
    from evaluation.domain.rules import QueryRules


def keep_samples(
    *, source: str, split: str, count: int, target_seed: int, rules: QueryRules
) -> tuple[str, tuple[str, ...]]:
    """Read `count` samples, draw their targets, keep them; returns the digest and the names of the classes.

    Raises `Refusal` where the data set is unknown, damaged or too small, or does not fit the rules.
    """
    dataset = load_dataset(source)
    if dataset.shape != rules.shape or dataset.classes != rules.classes:
        raise Refusal(
            f"{source} has {dataset.classes} classes and images of {tuple(dataset.shape)}, the rules say "
            f"{rules.classes} and {tuple(rules.shape)}",
            fix="correct classes and shape in the rules, or name another data set",
        )
    samples = with_targets(dataset.samples(split, count), dataset.classes, target_seed)
    return store.put(_pack(samples)), dataset.class_names


def samples_of(sample_set: SampleSet) -> tuple[Sample, ...]:
    """All samples of a set, in their order, numbered from 0; raises `Fault` where they are damaged."""
    return _unpack(sample_set.digest)


def _pack(samples: Sequence[Sample]) -> bytes:
    """The samples as bytes: equal samples give equal bytes, whatever the clock (so no zip)."""
    file = io.BytesIO()
    for array in (
        np.stack([sample.image for sample in samples]).astype(np.uint8),
        np.array([sample.label for sample in samples], np.int16),
        np.array([sample.target for sample in samples], np.int16),
    ):
        np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
    return file.getvalue()


@lru_cache(maxsize=8)
def _unpack(digest: str) -> tuple[Sample, ...]:
    file = io.BytesIO(store.get(digest))
    try:
        images, labels, targets = (np.lib.format.read_array(file, allow_pickle=False) for _ in range(3))
    except ValueError as error:
        raise Fault(f"the samples {digest} cannot be read: {error}") from error
    images.setflags(write=False)
    return tuple(
        Sample(number, image, int(label), int(target))
        for number, (image, label, target) in enumerate(zip(images, labels, targets, strict=True))
    )
