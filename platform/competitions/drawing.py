"""The samples of a round: drawn in a secret order, and committed to before anybody plays. Part of the services."""

from __future__ import annotations

import hashlib
import json

from django.db import transaction

from competitions.models import SampleSet
from competitions.samples import draw, sample_hashes
from competitions.selectors import overlapping, shown_sets
from core import clock
from core.errors import Refusal

SECRET = (SampleSet.Purpose.TEST, SampleSet.Purpose.FINAL)
"""Purposes of the sets that rounds draw from."""


def draw_samples(*, source: SampleSet, count: int, salt: str, name: str) -> SampleSet:
    """A set of its own with `count` samples of `source`, in the order that follows from `salt`.

    Raises `Refusal` where `source` is itself drawn, is for another purpose, is too small or shares images with a set
    that is public, validated on, played or drawn from; and where the competition has a set called `name`. Whether
    `source` itself was played is known where matches are: whoever draws asks first.
    """
    _check_source(source, count)
    if other := overlapping(source, shown_sets()):
        raise Refusal(
            f"{source} shares images with {other}, which are secret no more",
            fix="import a set of images that were never used",
        )
    digest = draw(source, secret_order(source.count, salt)[:count])
    with transaction.atomic():
        SampleSet.objects.select_for_update(no_key=True).get(pk=source.pk)
        if source.competition.sample_sets.filter(name=name).exists():
            raise Refusal(f"{source.competition} has a sample set {name!r} already", fix="give it another name")
        return SampleSet.objects.create(
            competition=source.competition,
            name=name,
            purpose=source.purpose,
            source=source.source,
            split=source.split,
            count=count,
            target_seed=source.target_seed,
            digest=digest,
            class_names=source.class_names,
            imported_at=clock.now(),
            drawn_from=source,
        )


def secret_order(count: int, salt: str) -> list[int]:
    """The numbers 0 to `count` - 1, sorted by the SHA-256 of "order {salt} {number}".

    This is how each round was drawn and is checked after it: it never changes.
    """
    return sorted(range(count), key=lambda number: hashlib.sha256(f"order {salt} {number}".encode()).digest())


def commitment_of(sample_set: SampleSet, salt: str) -> str:
    """What is published when a round is planned: the SHA-256, in hexadecimal, of the samples' salted hashes.

    They are taken in their order, as a JSON list without spaces.
    """
    listed = json.dumps(sample_hashes(sample_set, salt), separators=(",", ":"))
    return hashlib.sha256(listed.encode()).hexdigest()


def _check_source(source: SampleSet, count: int) -> None:
    if source.drawn_from_id is not None:
        raise Refusal(f"{source} was drawn for a round", fix="choose an imported set")
    if source.purpose not in SECRET:
        raise Refusal(
            f"{source} is for {source.get_purpose_display()}",
            fix=f"choose a set whose purpose is {' or '.join(SECRET)}",
        )
    if not 1 <= count <= source.count:
        raise Refusal(f"{source} has {source.count} samples, not {count}", fix=f"ask for 1 to {source.count}")
