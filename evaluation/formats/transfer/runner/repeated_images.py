"""Images that a defence labels again later: which, and what became of their labels. Pure.

A run sees every version of an image that other runs of the same defence see. A defence that carried labels from one
run to the next could answer with that of the least perturbed version. Alone in a new batch, with images of other
batches and attacks, it cannot know which versions come, and its own time on the host is long over.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import ceil
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from evaluation.formats.transfer.results import RepeatCounts

SHARE = 0.05
"""Number of repeated batches of a defence, as a share of its runs."""

Key = TypeVar("Key")


@dataclass(frozen=True)
class Repeated(Generic[Key]):
    """An image to be labelled again: image `index` of what the run `run` labelled, in the batch `batch`."""

    run: Key
    batch: int
    index: int


def repeats_due(runs: int) -> int:
    """Return the number of repeated batches of a defence with so many runs: at least one."""
    return ceil(SHARE * runs)


class LabelledImages(Generic[Key]):
    """The images that a defence labelled, each in the runs that labelled a version of it."""

    def __init__(self, runs: Mapping[Key, tuple[int, Sequence[bool]]]) -> None:
        """`runs` has the batch of each run, and which of its images got a label: in an order that is the same
        everywhere.
        """
        self._of_batch: dict[int, list[tuple[Key, Sequence[bool]]]] = defaultdict(list)
        for run, (batch, labelled) in runs.items():
            self._of_batch[batch].append((run, labelled))
        self._images = [
            (batch, index)
            for batch in sorted(self._of_batch)
            for index, of_runs in enumerate(zip_longest(*(each for _, each in self._of_batch[batch]), fillvalue=False))
            if any(of_runs)
        ]

    def draw(self, count: int, seed: object) -> tuple[Repeated[Key], ...]:
        """Return `count` images, or all samples if there are fewer, each of another sample, drawn with `seed`."""
        rng = random.Random(f"repeat {seed}")  # a string: equal on every machine
        drawn = rng.sample(self._images, min(count, len(self._images)))
        return tuple(Repeated(rng.choice(self._versions(batch, index)), batch, index) for batch, index in drawn)

    def _versions(self, batch: int, index: int) -> list[Key]:
        """Return the runs that labelled an image."""
        return [run for run, labelled in self._of_batch[batch] if index < len(labelled) and labelled[index]]


def file_names(count: int, seed: object) -> tuple[str, ...]:
    """Return names for so many images, drawn with `seed`: other ones than in the original runs."""
    rng = random.Random(f"repeated names {seed}")
    return tuple(f"{rng.getrandbits(64):016x}" for _ in range(count))


def count_changes(before: NDArray[np.int16], now: NDArray[np.int16], truth: NDArray[np.int16]) -> RepeatCounts:
    """Return the counts of images with the labels `before` and `now`, and the true ones: all (n,)."""
    return RepeatCounts(
        repeated=len(before),
        changed=int((before != now).sum()),
        lost=int(((before == truth) & (now != truth)).sum()),
        gained=int(((before != truth) & (now == truth)).sum()),
    )
