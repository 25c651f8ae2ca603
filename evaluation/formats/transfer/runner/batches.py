"""Batches of a sample set: up to 100 images with one epsilon, under names that say nothing."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO

import numpy as np
from PIL import Image as Picture

from evaluation.domain.errors import Refusal
from evaluation.domain.images import Image, Images
from evaluation.domain.samples import Sample
from evaluation.formats.transfer.rules import FIRST_LABEL, TransferRules

_NAME_DIGITS = 16


@dataclass(frozen=True, eq=False)
class Batch:
    """One batch; `names` are those of the files that attacks get, without ending, in the order of `samples`."""

    number: int
    epsilon: int
    samples: tuple[Sample, ...]
    names: tuple[str, ...]

    @cached_property
    def images(self) -> Images:
        """The clean images, (n, h, w, 3)."""
        return np.stack([sample.image for sample in self.samples])

    @cached_property
    def digest(self) -> str:
        """The digest of everything that an attack gets: names, pixels, epsilon and target classes."""
        whole = hashlib.sha256(f"batch {self.epsilon} {self.images.shape}\n{self.target_classes()}".encode())
        whole.update(self.images.tobytes())
        return whole.hexdigest()

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The PNG files that attacks get, by name."""
        return {f"{name}.png": png(image) for name, image in zip(self.names, self.images, strict=True)}

    def target_classes(self) -> str:
        """Return the content of `target_class.csv`: NAME.png,CLASS without a header."""
        return "".join(
            f"{name}.png,{_target(sample) + FIRST_LABEL}\n"
            for name, sample in zip(self.names, self.samples, strict=True)
        )


def make_batches(samples: Sequence[Sample], rules: TransferRules, seed: int) -> tuple[Batch, ...]:
    """Split `samples` in their order into batches, as line 2 of algorithm 1 does, and give each its epsilon."""
    if not samples:
        raise Refusal("there are no samples", fix="name a split with samples")
    batches = []
    start = 0
    for number, (epsilon, images) in enumerate(batch_sizes(len(samples), rules, seed)):
        batches.append(
            Batch(
                number=number,
                epsilon=epsilon,
                samples=tuple(samples[start : start + images]),
                names=tuple(f"IMG{start + index:06}" for index in range(images)),
            )
        )
        start += images
    return tuple(batches)


def batch_sizes(samples: int, rules: TransferRules, seed: int) -> list[tuple[int, int]]:
    """Return the epsilon and the number of images of each batch of so many samples."""
    draw = random.Random(f"epsilons {seed}")  # a string: equal on every machine
    sizes = []
    for number, start in enumerate(range(0, samples, rules.batch_images)):
        drawn = rules.epsilons[draw.randrange(len(rules.epsilons))]
        cycled = rules.epsilons[number % len(rules.epsilons)]
        epsilon = drawn if rules.epsilon_order == "drawn" else cycled
        sizes.append((epsilon, min(rules.batch_images, samples - start)))
    return sizes


def anonymous_names(batch: Batch, attack: str, defence: str, seed: int) -> tuple[str, ...]:
    """Return the names under which `defence` (a digest) gets what `attack` (a digest) made of `batch`.

    They are 16 hexadecimal digits, as in the toolkit of 2017. Neither a name nor their order says which attack or
    which sample it is, and no two defences get the same ones.
    """
    return tuple(
        hashlib.sha256(f"name {seed} {attack} {defence} {name}".encode()).hexdigest()[:_NAME_DIGITS]
        for name in batch.names
    )


def png(image: Image) -> bytes:
    """Return `image` as a PNG file."""
    file = BytesIO()
    Picture.fromarray(image).save(file, "PNG", compress_level=1)
    return file.getvalue()


def _target(sample: Sample) -> int:
    if sample.target is None:
        raise ValueError(f"sample {sample.number} has no target class")
    return sample.target
