"""What a data set is: a name, its classes, and splits that are read when they are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample

ReadSplit: TypeAlias = Callable[[int | None], tuple[Sample, ...]]
"""Reads the first so many samples of one split, or all of them for None."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set; labels are 0 to `classes` - 1 and `class_names[label]` is what people read.

    `splits` maps the name of each split to what reads it: nothing is decoded before `samples` is called.
    """

    name: str
    class_names: tuple[str, ...]
    shape: ImageShape
    splits: Mapping[str, ReadSplit]

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.class_names)

    def samples(self, split: str, count: int | None = None) -> tuple[Sample, ...]:
        """The first `count` samples of `split` in their fixed order, or all; each is numbered by its place there.

        Raises `DatasetRefusal` where the split is unknown or too small, and where files are missing, corrupt,
        mis-sized or unlabelled.
        """
        if count is not None and count < 1:
            raise DatasetRefusal(f"{count} samples were asked for", fix="ask for at least one")
        samples = self.first(split, count)
        if count is not None and len(samples) < count:
            raise DatasetRefusal(
                f"{count} samples were asked for, the split {split!r} of {self.name} holds {len(samples)}",
                fix=f"ask for at most {len(samples)}",
            )
        return samples

    def first(self, split: str, most: int | None) -> tuple[Sample, ...]:
        """The first `most` samples of `split`, or as many as there are; no more is read. Raises as `samples` does."""
        if split not in self.splits:
            raise DatasetRefusal(
                f"{self.name} has no split {split!r}", fix=f"name one of: {', '.join(self.splits) or 'none is there'}"
            )
        return self.splits[split](most)


def with_targets(samples: Iterable[Sample], classes: int, seed: int) -> tuple[Sample, ...]:
    """Give each sample without a target one, drawn uniformly among the `classes` - 1 wrong classes.

    A target hangs on the seed and the sample's number alone: it is the same however many samples are taken, on every
    machine and under every version of NumPy. A target that came with the data set (NIPS 2017) stays.
    """
    return tuple(
        sample if sample.target is not None else replace(sample, target=_target(sample, classes, seed))
        for sample in samples
    )


def _target(sample: Sample, classes: int, seed: int) -> int:
    digest = hashlib.sha256(f"target {seed} {sample.number}".encode()).digest()
    return (sample.label + 1 + int.from_bytes(digest) % (classes - 1)) % classes
