"""A sample: one clean image with what is known of it."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.domain.images import Image


@dataclass(frozen=True, eq=False)
class Sample:
    """One clean image of a sample set.

    `number` is its place in its split, and its name in every result; `label` the true class; `target` the class
    that a targeted attack must reach, None where none was drawn.
    """

    number: int
    image: Image
    label: int
    target: int | None = None
