"""New validation set after a round, made of images that are in no other set.

A fixed set leads to overfitting: the best of many submissions is partly lucky (selection effect), and each score tells
a team a little about the samples. A new set removes both effects. Its images are chosen at random from the split of
the set in force, among the images that no set of any competition contains. So it overlaps neither secret nor public
sets.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from itertools import count

from django.db import transaction

from competitions.models import Competition, SampleSet
from competitions.sample_set_selectors import overlapping, sample_set_for
from competitions.sample_store import image_hashes, keep_further_samples
from competitions.selectors import rules_in_force
from core import clock, event_log
from core.errors import Refusal


@dataclass(frozen=True)
class Renewal:
    """A drawn validation set in the object store, without a row until `keep_validation_set`."""

    sample_set: SampleSet
    """Unsaved, without a name."""
    compared: frozenset[int]
    """Primary keys of the sets that share no image with it."""


def draw_validation_set(competition: Competition) -> Renewal:
    """Draw as many samples as the validation set in force has. Slow: call it outside a transaction.

    Raise `Refusal` if its data set cannot be read on this host, or has too few images outside all sample sets.
    """
    before = sample_set_for(competition, SampleSet.Purpose.VALIDATION)
    rules = rules_in_force(competition)
    # sets drawn for rounds contain images of these
    others = list(SampleSet.objects.filter(drawn_from__isnull=True))
    target_seed = secrets.randbits(63)
    digest = keep_further_samples(
        source=before.source,
        split=before.split,
        count=before.count,
        target_seed=target_seed,
        rules=rules.engine_rules,
        known=frozenset[bytes]().union(*map(image_hashes, others)),
    )
    drawn = SampleSet(
        competition=competition,
        purpose=SampleSet.Purpose.VALIDATION,
        source=before.source,
        split=before.split,
        count=before.count,
        target_seed=target_seed,
        digest=digest,
        class_names=before.class_names,
        replaces=before,
    )
    return Renewal(drawn, frozenset(other.pk for other in others))


def keep_validation_set(renewal: Renewal) -> SampleSet:
    """Put the drawn set into force.

    Raise `Refusal` if another validation set came into force since the draw, or a set imported since then contains one
    of its images.
    """
    drawn = renewal.sample_set
    with transaction.atomic():
        competition = Competition.objects.select_for_update(no_key=True).get(pk=drawn.competition_id)
        before = sample_set_for(competition, SampleSet.Purpose.VALIDATION)
        if before.pk != drawn.replaces_id:
            raise Refusal(
                f"{before.name} came into force in the meantime", fix="no action needed: it is a new validation set"
            )
        newer = SampleSet.objects.filter(drawn_from__isnull=True).exclude(pk__in=renewal.compared)
        if other := overlapping(drawn, newer):
            raise Refusal(
                f"{other} was imported in the meantime and shares images with it", fix="import a validation set"
            )
        drawn.name, drawn.imported_at = _free_name(before), clock.now()
        drawn.save()
        event_log.record("draw", drawn, competition=competition.pk, replaces=before.pk, samples=drawn.count)
    return drawn


def _free_name(before: SampleSet) -> str:
    """Return the next free name: validation-2, validation-3 and so on, after the imported set."""
    first = before
    while first.replaces is not None:
        first = first.replaces
    taken = set(before.competition.sample_sets.values_list("name", flat=True))
    return next(name for number in count(2) if (name := f"{first.name[:34]}-{number}") not in taken)
