"""Data set: a name, its classes, and splits that are read on demand."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from evaluation.domain.errors import DatasetRefusal
from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample


@dataclass(frozen=True, eq=False)
class Reading:
    """Samples of a split while they are read.

    `size` is how many there should be. `samples` yields them in order, each decoded when it is asked for; after the
    last one it raises one `DatasetRefusal` that lists everything that is damaged, if anything is.
    """

    size: int
    samples: Iterator[Sample]


ReadSplit: TypeAlias = Callable[[int | None], Reading]
"""A function that reads the first `count` samples of a split, or all for None."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set; labels are 0 to `classes` - 1, and `class_names[label]` is the name for people.

    `splits` maps the name of each split to its reader: nothing is decoded before `samples` is called.
    """

    name: str
    class_names: tuple[str, ...]
    shape: ImageShape
    splits: Mapping[str, ReadSplit]

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.class_names)

    def samples(self, split: str, count: int | None = None) -> tuple[Sample, ...]:
        """Return the first `count` samples of `split` in their fixed order, or all; a sample's number is its index.

        Raise `DatasetRefusal` if the split is unknown or too small, or files are missing, corrupt, of the wrong size or
        unlabelled.
        """
        if count is not None and count < 1:
            raise DatasetRefusal(f"{count} samples were requested", fix="request at least one")
        samples = self.first(split, count)
        if count is not None and len(samples) < count:
            raise DatasetRefusal(
                f"{count} samples were requested, but the split {split!r} of {self.name} has {len(samples)}",
                fix=f"request at most {len(samples)}",
            )
        return samples

    def first(self, split: str, most: int | None) -> tuple[Sample, ...]:
        """Return at most the first `most` samples of `split`, and read no more. Raise like `samples`."""
        return tuple(self.read(split, most).samples)

    def read(self, split: str, most: int | None = None) -> Reading:
        """Read at most the first `most` samples of `split` one by one. Raise `DatasetRefusal` like `samples`."""
        if split not in self.splits:
            raise DatasetRefusal(
                f"{self.name} has no split {split!r}", fix=f"name one of: {', '.join(self.splits) or 'there are none'}"
            )
        return self.splits[split](most)


def with_targets(samples: Iterable[Sample], classes: int, seed: int) -> tuple[Sample, ...]:
    """Give each sample without a target one, drawn uniformly from the `classes` - 1 wrong classes.

    A target depends only on the seed and the sample's number: it is the same for any number of samples, on every
    machine and with every version of NumPy. Targets of the data set itself (NIPS 2017) stay.
    """
    return tuple(
        sample if sample.target is not None else replace(sample, target=_target(sample, classes, seed))
        for sample in samples
    )


def _target(sample: Sample, classes: int, seed: int) -> int:
    digest = hashlib.sha256(f"target {seed} {sample.number}".encode()).digest()
    return (sample.label + 1 + int.from_bytes(digest) % (classes - 1)) % classes
