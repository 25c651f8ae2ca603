"""Development samples of a competition: the public set, and some images of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from competitions.models import Competition, SampleSet
from competitions.sample_store import samples_of
from core import platform_error_report
from core.errors import Fault
from evaluation.domain.samples import class_name

log = logging.getLogger(__name__)

EXAMPLES = 10


@dataclass(frozen=True)
class Example:
    """A public image of a competition: its number in the development samples, and the first name of its class."""

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
        platform_error_report.report(log, fault, "%s has no pictures", sample_set)
        return ()
    first = {sample.label: sample for sample in reversed(samples)}
    shown = [first[label] for label in sorted(first)][:EXAMPLES]
    names = [class_name(sample_set.class_names, sample.label) for sample in shown]
    # ImageNet names a class by all its synonyms, for which a small picture has no room
    return [Example(sample.number, name.partition(",")[0]) for sample, name in zip(shown, names, strict=True)]
