"""The gallery of a match: each adversarial with its pictures, labels, distance and queries, the smallest first."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.urls import reverse
from django.utils.translation import gettext

from competitions.models import Competition, SampleSet, Track
from competitions.sample_store import samples_of
from core import faults
from core.errors import Fault
from evaluation.domain.results import Outcome
from matches.curves import Row
from matches.gallery import AMPLIFICATIONS, CLEAN, PERTURBED, USUAL_AMPLIFICATION, difference_name
from matches.models import Match

log = logging.getLogger(__name__)

PER_PAGE = 12
EXAMPLES = 10


@dataclass(frozen=True)
class Exhibit:
    """A sample in the gallery: the names of its classes, its row, and the addresses of its three pictures."""

    row: Row
    label: str
    found: str
    target: str
    clean: str
    perturbed: str
    difference: str


@dataclass(frozen=True)
class Gallery:
    """A page of the adversarials of a match, with the amplification of their differences."""

    exhibits: Sequence[Exhibit]
    page: Page[Row]
    factor: int
    factors: Sequence[int] = AMPLIFICATIONS


def gallery(match: Match, rows: Sequence[Row], factor: str, page: str) -> Gallery | None:
    """Return a page of the gallery, None if there is no adversarial; for people who see all images."""
    found = sorted((row for row in rows if row.outcome == Outcome.ADVERSARIAL), key=lambda row: row.distance)
    if not found:
        return None
    chosen = next((each for each in AMPLIFICATIONS if str(each) == factor), USUAL_AMPLIFICATION)
    shown = Paginator(found, PER_PAGE).get_page(page)
    samples, names = samples_of(match.sample_set), match.sample_set.class_names
    targeted = match.attack.track_name == Track.Name.TARGETED

    def exhibit(row: Row) -> Exhibit:
        sample = samples[row.sample]
        pictures = (
            reverse("pages:match_image", args=[match.pk, row.sample, name])
            for name in (CLEAN, PERTURBED, difference_name(chosen))
        )
        target = _name(names, sample.target) if targeted else ""
        return Exhibit(row, _name(names, sample.label), _name(names, row.found_label), target, *pictures)

    return Gallery([exhibit(row) for row in shown], shown, chosen)


@dataclass(frozen=True)
class Example:
    """A public image of a competition: its number in the development samples, and the name of its class."""

    sample: int
    label: str


def development_set(competition: Competition) -> SampleSet | None:
    """Return the public samples of a competition, None if there are none."""
    return competition.sample_sets.filter(purpose=SampleSet.Purpose.DEVELOPMENT).order_by("-pk").first()


def examples(competition: Competition) -> Sequence[Example]:
    """Return some development samples, of as many classes as there are."""
    sample_set = development_set(competition)
    if sample_set is None:
        return ()
    try:
        samples = samples_of(sample_set)
    except Fault as fault:  # the page does not need them
        faults.report(log, fault, "%s has no pictures", sample_set)
        return ()
    first = {sample.label: sample for sample in reversed(samples)}
    shown = [first[label] for label in sorted(first)][:EXAMPLES]
    return [Example(sample.number, _name(sample_set.class_names, sample.label)) for sample in shown]


def _name(names: Sequence[str], label: int | None) -> str:
    if label is None or label < 0:
        return gettext("no label")
    return names[label] if label < len(names) else str(label)
