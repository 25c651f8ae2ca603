"""What galleries have in common, and the public images of a competition."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Page
from django.utils.translation import gettext

from competitions.models import Competition, SampleSet
from competitions.sample_store import samples_of
from core import faults
from core.errors import Fault
from evaluation.charts.pictures import AMPLIFICATIONS, USUAL_AMPLIFICATION
from pages.players import PlayerName

log = logging.getLogger(__name__)

COLUMNS = 5
"""Players side by side in the gallery of a round: the best ones."""

SAMPLES_PER_PAGE = 6
"""Samples on a page of the gallery of a round."""

EXAMPLES = 10


@dataclass(frozen=True, kw_only=True)
class GalleryCell:
    """What became of a sample: the class that was found, and the addresses of the pictures where there are any."""

    found: str
    perturbed: str = ""
    difference: str = ""


@dataclass(frozen=True, kw_only=True)
class GalleryLine:
    """A sample: its clean image, the names of its class and its target, and a cell for each column."""

    sample: int
    label: str
    target: str
    clean: str
    cells: Sequence[GalleryCell | None]


@dataclass(frozen=True, kw_only=True)
class RoundGallery:
    """A page of the gallery of a round. `chosen` is the player that all columns meet, one of `choices`."""

    columns: Sequence[PlayerName]
    lines: Sequence[GalleryLine]
    page: Page[int]
    factor: int
    chosen: int | None
    choices: Sequence[tuple[int, PlayerName]]
    factors: Sequence[int] = AMPLIFICATIONS


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
    return [Example(sample.number, class_name(sample_set.class_names, sample.label)) for sample in shown]


def amplification(factor: str) -> int:
    """Return the amplification that a reader has chosen, the usual one for anything else."""
    return next((each for each in AMPLIFICATIONS if str(each) == factor), USUAL_AMPLIFICATION)


def class_name(names: Sequence[str], label: int | None) -> str:
    """Return the name of a class for people."""
    if label is None or label < 0:
        return gettext("no label")
    return names[label] if label < len(names) else str(label)
