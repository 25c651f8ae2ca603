"""The samples of a round: drawn in a secret order, and committed to before anybody plays. Part of the services."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction

from competitions.models import SampleSet
from competitions.sample_store import commitment_to, draw, sample_hashes
from competitions.selectors import overlapping, shown_sets
from core import clock
from core.errors import Refusal

SECRET = (SampleSet.Purpose.TEST, SampleSet.Purpose.FINAL)
"""Purposes of the sets that rounds draw from."""


@dataclass(frozen=True)
class Draw:
    """Samples that were drawn and lie in the store: no set stands for them until `keep_draw`."""

    source: SampleSet
    sample_set: SampleSet
    """Not saved, and without a name."""
    compared: frozenset[int]
    """The sets that are known to share no image with the source, by their numbers."""


def draw_samples(*, source: SampleSet, count: int, salt: str) -> Draw:
    """`count` samples of `source`, in the order that follows from `salt`. Reads many images: not for a transaction.

    Raises `Refusal` where `source` is itself drawn, is for another purpose, is too small, holds a sample twice, or
    shares images with a set that is public, validated on, played or drawn from. Whether `source` itself was played is
    known where matches are: whoever draws asks first.
    """
    _check_source(source, count)
    shown = list(shown_sets())
    _check_unseen(source, shown)
    drawn = SampleSet(
        competition=source.competition,
        purpose=source.purpose,
        source=source.source,
        split=source.split,
        count=count,
        target_seed=source.target_seed,
        digest=draw(source, secret_order(source.count, salt)[:count]),
        class_names=source.class_names,
        drawn_from=source,
    )
    if len(set(sample_hashes(drawn, salt))) < count:
        raise Refusal(f"{source} holds a sample twice", fix="import a set in which each image stands once")
    return Draw(source, drawn, frozenset(other.pk for other in shown))


def keep_draw(drawn: Draw, *, name: str) -> SampleSet:
    """Let a set called `name` stand for what was drawn.

    Raises `Refusal` where the competition has one of that name, and where the source shares images with a set that was
    shown since the draw.
    """
    sample_set = drawn.sample_set
    with transaction.atomic():
        source = SampleSet.objects.select_for_update(no_key=True).get(pk=drawn.source.pk)
        if newer := list(shown_sets().exclude(pk__in=drawn.compared)):
            _check_unseen(source, newer)
        if source.competition.sample_sets.filter(name=name).exists():
            raise Refusal(f"{source.competition} has a sample set {name!r} already", fix="give it another name")
        sample_set.name, sample_set.imported_at = name, clock.now()
        sample_set.save()
    return sample_set


def secret_order(count: int, salt: str) -> list[int]:
    """The numbers 0 to `count` - 1, sorted by the SHA-256 of "order {salt} {number}".

    This is how each round was drawn and is checked after it: it never changes.
    """
    return sorted(range(count), key=lambda number: hashlib.sha256(f"order {salt} {number}".encode()).digest())


def commitment_of(sample_set: SampleSet, salt: str) -> str:
    """What is published when a round is planned: the SHA-256, in hexadecimal, of the samples' salted hashes.

    They are taken in their order, as a JSON list without spaces.
    """
    return commitment_to(sample_hashes(sample_set, salt))


def _check_unseen(source: SampleSet, shown: Iterable[SampleSet]) -> None:
    if other := overlapping(source, shown):
        raise Refusal(
            f"{source} shares images with {other}, which are secret no more",
            fix="import a set of images that were never used",
        )


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
