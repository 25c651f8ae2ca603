"""Sample: one clean image with its label and target, and the names of classes."""

from __future__ import annotations

from collections.abc import Sequence
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


def class_name(names: Sequence[str], label: int | None) -> str:
    """Return the name of a class for people, its number without one."""
    if label is None or label < 0:
        return "no label"
    return names[label] if label < len(names) else str(label)
