"""The data set of a competition: shape, classes, and how many samples of each purpose there are."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from competitions.models import Competition, SampleSet
from competitions.sample_set_selectors import imported_sets
from competitions.sample_store import samples_of
from core import platform_error_report
from core.errors import Fault
from pages.competition.development_samples import development_set
from pages.formats import page_formats

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ClassRow:
    """A class: its number in what submissions read and write, its name, and its number of development samples."""

    number: int
    name: str
    samples: int


@dataclass(frozen=True)
class DataSet:
    """What everybody may know of the samples: nothing here depends on the secret ones but the size of the set in use.

    `shape` is height, width and channels, `number` the title of the numbers of classes. `validation` is the number of
    secret samples that scores are measured on.
    """

    shape: tuple[int, int, int]
    classes: int
    number: str
    rows: Sequence[ClassRow]
    development: int
    validation: int


def data_set(competition: Competition) -> DataSet | None:
    """Return the data set of a competition, None before it has rules."""
    rules = competition.rules_versions.first()
    if rules is None:
        return None
    measured = rules.engine_rules
    height, width, channels = measured.shape
    public = development_set(competition)
    numbers = page_formats.of(competition).class_numbers()
    validation = imported_sets(competition).filter(purpose=SampleSet.Purpose.VALIDATION).order_by("-pk").first()
    return DataSet(
        shape=(height, width, channels),
        classes=measured.classes,
        number=numbers.title,
        rows=_classes(public, numbers.first) if public else (),
        development=public.count if public else 0,
        validation=validation.count if validation else 0,
    )


def _classes(public: SampleSet, first: int) -> Sequence[ClassRow]:
    try:
        counted = Counter(sample.label for sample in samples_of(public))
    except Fault as fault:  # the page does not need them
        platform_error_report.report(log, fault, "%s cannot be read", public)
        return ()
    return [ClassRow(first + label, name, counted[label]) for label, name in enumerate(public.class_names)]
