"""The gallery of a report: adversarials with their pictures as `data:` addresses, the smallest first."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from evaluation.charts.pictures import AMPLIFICATIONS, amplified, png
from evaluation.domain.images import Image
from evaluation.domain.players import Track
from evaluation.domain.results import MatchResult, Outcome, SampleResult
from evaluation.domain.samples import Sample

MOST = 12
MOST_CHARACTERS = 4_000_000
"""Samples in a gallery, and the characters of their pictures: so the page stays small for large images, too."""


@dataclass(frozen=True)
class GalleryItem:
    """A sample of a match: its row, the names of its classes, and its pictures. `differences` is by factor."""

    model: str
    attack: str
    row: SampleResult
    label: str
    found: str
    target: str
    clean: str
    perturbed: str
    differences: Mapping[int, str]


def of_match(result: MatchResult, samples: Sequence[Sample], class_names: Sequence[str]) -> list[GalleryItem]:
    """Return the smallest adversarials of a match."""
    found = sorted(_adversarials(result), key=lambda each: each[1].distance)
    return _first(_item(*each, samples, class_names) for each in found)


def of_tournament(
    results: Sequence[MatchResult], samples: Sequence[Sample], class_names: Sequence[str]
) -> list[GalleryItem]:
    """Return the smallest adversarial of each match, the smallest of these first."""
    each_match = (list(_adversarials(result)) for result in results)
    smallest = [min(found, key=lambda each: each[1].distance) for found in each_match if found]
    smallest.sort(key=lambda each: each[1].distance)
    return _first(_item(*each, samples, class_names) for each in smallest)


def _first(items: Iterable[GalleryItem]) -> list[GalleryItem]:
    """Return the first items, at least one, as far as they are small enough together."""
    chosen: list[GalleryItem] = []
    characters = 0
    for each in islice(items, MOST):
        characters += sum(map(len, (each.clean, each.perturbed, *each.differences.values())))
        if chosen and characters > MOST_CHARACTERS:
            break
        chosen.append(each)
    return chosen


def _adversarials(result: MatchResult) -> Iterable[tuple[MatchResult, SampleResult, Image]]:
    for piece in result.pieces:
        for row, image in zip(piece.samples, piece.perturbed, strict=True):
            if row.outcome is Outcome.ADVERSARIAL:
                yield result, row, image


def _item(
    result: MatchResult, row: SampleResult, perturbed: Image, samples: Sequence[Sample], class_names: Sequence[str]
) -> GalleryItem:
    clean = next(sample.image for sample in samples if sample.number == row.sample)
    return GalleryItem(
        model=result.model,
        attack=result.attack,
        row=row,
        label=_name(class_names, row.label),
        found=_name(class_names, row.found_label),
        target=_name(class_names, row.target) if result.track == Track.TARGETED else "",
        clean=_address(clean),
        perturbed=_address(perturbed),
        differences={factor: _address(amplified(clean, perturbed, factor)) for factor in AMPLIFICATIONS},
    )


def _address(image: Image) -> str:
    return f"data:image/png;base64,{base64.b64encode(png(image)).decode()}"


def _name(names: Sequence[str], label: int | None) -> str:
    if label is None or label < 0:
        return "no label"
    return names[label] if label < len(names) else str(label)
