"""Queries about the sample sets of competitions."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q, QuerySet

from competitions.extension_points import sets_in_use
from competitions.models import Competition, SampleSet
from competitions.sample_store import image_hashes
from core.errors import Fault

SHOWN = (SampleSet.Purpose.DEVELOPMENT, SampleSet.Purpose.VALIDATION)
"""Purposes of sets that are public or played all the time."""


def sample_set_for(competition: Competition, purpose: str) -> SampleSet:
    """Return the newest imported sample set of the purpose. Raise `Fault` if there is none."""
    found = imported_sets(competition).filter(purpose=purpose).order_by("-pk").first()
    if found is None:
        raise Fault(f"{competition.slug} has no {purpose} samples")
    return found


def development_set(competition: Competition) -> SampleSet:
    """Return the development set in force. Raise `Fault` if there is none."""
    return sample_set_for(competition, SampleSet.Purpose.DEVELOPMENT)


def imported_sets(competition: Competition) -> QuerySet[SampleSet]:
    """Return the sample sets read from data sets, without the sets drawn for rounds."""
    return competition.sample_sets.filter(drawn_from__isnull=True)


def described_sets(competition: Competition) -> QuerySet[SampleSet]:
    """Return the imported sets described by the competition's file, without validation sets drawn by the site."""
    return imported_sets(competition).filter(replaces__isnull=True)


def shown_sets() -> QuerySet[SampleSet]:
    """Return the sets of all competitions whose images people or players have seen, see, or will see.

    Sets drawn for rounds are represented by their sources.
    """
    shown = Q(purpose__in=SHOWN) | Q(draws__isnull=False)
    for used in sets_in_use.answers():
        shown |= Q(pk__in=used)
    return SampleSet.objects.filter(shown, drawn_from__isnull=True).order_by("pk").distinct()


def overlapping(sample_set: SampleSet, others: Iterable[SampleSet]) -> SampleSet | None:
    """Return the first of `others`, except the set itself, that shares an image with it.

    Reads all images, but none where there is no other set: those of a large set take seconds.
    """
    compared = [other for other in others if other.pk != sample_set.pk]
    own = image_hashes(sample_set) if compared else frozenset()
    return next((other for other in compared if own & image_hashes(other)), None)
