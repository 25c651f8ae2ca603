"""The gallery of a match or a challenge: each adversarial with its pictures, labels, distance and queries.

The smallest come first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator

from competitions.models import SampleSet
from competitions.sample_pictures import CLEAN, PERTURBED, difference_name
from competitions.sample_store import samples_of
from evaluation.charts.sample_pictures import AMPLIFICATIONS
from evaluation.domain.samples import class_name
from evaluation.formats.query.results import Outcome
from formats.query.matches.match_numbers_and_curves import MatchSampleRow
from pages.round.gallery import amplification

PER_PAGE = 12


@dataclass(frozen=True)
class GallerySample:
    """A sample in the gallery: the names of its classes, its row, and the addresses of its three pictures."""

    row: MatchSampleRow
    label: str
    found: str
    target: str
    clean: str
    perturbed: str
    difference: str


@dataclass(frozen=True)
class Gallery:
    """A page of the adversarials of a match, with the amplification of their differences."""

    samples: Sequence[GallerySample]
    page: Page[MatchSampleRow]
    factor: int
    factors: Sequence[int] = AMPLIFICATIONS


def gallery(
    rows: Sequence[MatchSampleRow],
    sample_set: SampleSet,
    *,
    targeted: bool,
    address: Callable[[int, str], str],
    factor: str,
    page: str,
) -> Gallery | None:
    """Return a page of the gallery, None if there is no adversarial; for people who see all images.

    `address` returns that of a picture of a sample, by its name.
    """
    found = sorted((row for row in rows if row.outcome == Outcome.ADVERSARIAL), key=lambda row: row.distance)
    if not found:
        return None
    chosen = amplification(factor)
    shown = Paginator(found, PER_PAGE).get_page(page)
    samples, names = samples_of(sample_set), sample_set.class_names

    def gallery_sample(row: MatchSampleRow) -> GallerySample:
        sample = samples[row.sample]
        pictures = (address(row.sample, name) for name in (CLEAN, PERTURBED, difference_name(chosen)))
        target = class_name(names, sample.target) if targeted else ""
        return GallerySample(
            row, class_name(names, sample.label), class_name(names, row.found_label), target, *pictures
        )

    return Gallery([gallery_sample(row) for row in shown], shown, chosen)
