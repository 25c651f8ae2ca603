"""Sample: one clean image with its label and target."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.domain.images import Image


@dataclass(frozen=True, eq=False)
class Sample:
    """One clean image of a sample set.

    `number` is its index in its split, and its name in every result; `label` is the true class; `target` is the class
    that a targeted attack must reach, None if none was drawn; `image_id` is its name in the table of its data set,
    empty where that has none.
    """

    number: int
    image: Image
    label: int
    target: int | None = None
    image_id: str = ""
