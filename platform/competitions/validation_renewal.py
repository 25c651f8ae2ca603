"""A new validation set after a round, of images that are in no other set. Part of the services.

On a fixed set scores of the best of many submissions are the better by luck the more there are, and a team learns
from each score a little about these samples. A new set ends both. Its images come from the split that the set in force
was taken from, chosen by the site's own randomness among those that no set of any competition holds: so it overlaps
neither what is secret nor what is public, whatever was imported, drawn or released before.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from itertools import count

from django.db import transaction

from competitions.models import Competition, SampleSet
from competitions.rules import query_rules
from competitions.sample_store import image_hashes, keep_further_samples
from competitions.selectors import overlapping, rules_in_force, sample_set_for
from core import clock, events
from core.errors import Refusal


@dataclass(frozen=True)
class Renewal:
    """A validation set that was drawn and lies in the store: no row stands for it until `keep_validation_set`."""

    sample_set: SampleSet
    """Not saved, and without a name."""
    compared: frozenset[int]
    """The sets that share no image with it, by their numbers."""


def draw_validation_set(competition: Competition) -> Renewal:
    """Draw as many samples as the validation set in force has. Reads many images: not for a transaction.

    Raises `Refusal` where its data set cannot be read on this host, or has too few images that are in no sample set.
    """
    before = sample_set_for(competition, SampleSet.Purpose.VALIDATION)
    rules = rules_in_force(competition)
    # what rounds drew are images of these
    others = list(SampleSet.objects.filter(drawn_from__isnull=True))
    target_seed = secrets.randbits(63)
    digest = keep_further_samples(
        source=before.source,
        split=before.split,
        count=before.count,
        target_seed=target_seed,
        rules=query_rules(rules.values, rules.version),
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
    """Let the set be the validation set in force.

    Raises `Refusal` where another one came into force since it was drawn, or a set that was imported since holds one
    of its images.
    """
    drawn = renewal.sample_set
    with transaction.atomic():
        competition = Competition.objects.select_for_update(no_key=True).get(pk=drawn.competition_id)
        before = sample_set_for(competition, SampleSet.Purpose.VALIDATION)
        if before.pk != drawn.replaces_id:
            raise Refusal(f"{before.name} came into force meanwhile", fix="nothing: it is a new validation set")
        newer = SampleSet.objects.filter(drawn_from__isnull=True).exclude(pk__in=renewal.compared)
        if other := overlapping(drawn, newer):
            raise Refusal(f"{other} was imported meanwhile and shares images with it", fix="import a validation set")
        drawn.name, drawn.imported_at = _free_name(before), clock.now()
        drawn.save()
        events.record("draw", drawn, competition=competition.pk, replaces=before.pk, samples=drawn.count)
    return drawn


def _free_name(before: SampleSet) -> str:
    """validation-2, validation-3 and so on, after the set that was imported."""
    first = before
    while first.replaces is not None:
        first = first.replaces
    taken = set(before.competition.sample_sets.values_list("name", flat=True))
    return next(name for number in count(2) if (name := f"{first.name[:34]}-{number}") not in taken)
