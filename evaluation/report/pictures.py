"""Pictures of a report: images as `data:` addresses, in a gallery that stays small."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from evaluation.charts.sample_pictures import AMPLIFICATIONS, amplified, png
from evaluation.domain.images import Image

MOST = 12
MOST_CHARACTERS = 4_000_000
"""Samples in a gallery, and the characters of their pictures: so the page stays small for large images, too."""


@dataclass(frozen=True)
class Pictures:
    """The clean and the changed image as addresses, and their difference by factor."""

    clean: str
    perturbed: str
    differences: Mapping[int, str]

    @property
    def characters(self) -> int:
        """The length of all addresses."""
        return sum(map(len, (self.clean, self.perturbed, *self.differences.values())))


@dataclass(frozen=True)
class PicturedSample:
    """A sample of a gallery: its pictures, and the names of the class and of the label that the changed image got."""

    pictures: Pictures
    label: str
    found: str


Shown = TypeVar("Shown", bound=PicturedSample)


def pictures_of(clean: Image, perturbed: Image) -> Pictures:
    """Return the pictures of a sample."""
    differences = {factor: _address(amplified(clean, perturbed, factor)) for factor in AMPLIFICATIONS}
    return Pictures(_address(clean), _address(perturbed), differences)


def first(items: Iterable[Shown]) -> list[Shown]:
    """Return the first items, at least one, as far as they are small enough together."""
    chosen: list[Shown] = []
    characters = 0
    for each in islice(items, MOST):
        characters += each.pictures.characters
        if chosen and characters > MOST_CHARACTERS:
            break
        chosen.append(each)
    return chosen


def _address(image: Image) -> str:
    return f"data:image/png;base64,{base64.b64encode(png(image)).decode()}"
