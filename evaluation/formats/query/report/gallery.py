"""The gallery of a report of the query format: adversarials with their pictures, the smallest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluation.domain.images import Image
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample, class_name
from evaluation.formats.query.results import MatchResult, Outcome, RefereedSample
from evaluation.report.pictures import PicturedSample, first, pictures_of


@dataclass(frozen=True)
class GalleryItem(PicturedSample):
    """A sample of a match: its row, and the name of its target class."""

    model: str
    attack: str
    row: RefereedSample
    target: str


def of_match(result: MatchResult, samples: Sequence[Sample], class_names: Sequence[str]) -> list[GalleryItem]:
    """Return the smallest adversarials of a match."""
    found = sorted(_adversarials(result), key=lambda each: each[1].distance)
    return first(_item(*each, samples, class_names) for each in found)


def of_tournament(
    results: Sequence[MatchResult], samples: Sequence[Sample], class_names: Sequence[str]
) -> list[GalleryItem]:
    """Return the smallest adversarial of each match, the smallest of these first."""
    each_match = (list(_adversarials(result)) for result in results)
    smallest = [min(found, key=lambda each: each[1].distance) for found in each_match if found]
    smallest.sort(key=lambda each: each[1].distance)
    return first(_item(*each, samples, class_names) for each in smallest)


def _adversarials(result: MatchResult) -> Iterable[tuple[MatchResult, RefereedSample, Image]]:
    for piece in result.pieces:
        for row, image in zip(piece.samples, piece.perturbed, strict=True):
            if row.outcome is Outcome.ADVERSARIAL:
                yield result, row, image


def _item(
    result: MatchResult, row: RefereedSample, perturbed: Image, samples: Sequence[Sample], class_names: Sequence[str]
) -> GalleryItem:
    clean = next(sample.image for sample in samples if sample.number == row.sample)
    return GalleryItem(
        model=result.model,
        attack=result.attack,
        row=row,
        label=class_name(class_names, row.label),
        found=class_name(class_names, row.found_label),
        target=class_name(class_names, row.target) if result.track == TrackName.TARGETED else "",
        pictures=pictures_of(clean, perturbed),
    )
