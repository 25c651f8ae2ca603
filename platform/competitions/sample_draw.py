"""Secret sample sets of rounds: the draw, and the commitment published before the round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction

from competitions.models import SampleSet
from competitions.sample_set_selectors import overlapping, shown_sets
from competitions.sample_store import commitment_to, draw, sample_hashes, secret_order
from core import clock
from core.errors import Refusal

SECRET = (SampleSet.Purpose.TEST, SampleSet.Purpose.FINAL)
"""Purposes of the sets that rounds can draw from."""


@dataclass(frozen=True)
class Draw:
    """Drawn samples in the object store, without a row until `keep_draw`."""

    source: SampleSet
    sample_set: SampleSet
    """Unsaved, without a name."""
    commitment: str
    """The hexadecimal SHA-256 of their salted hashes in order, as a JSON list without spaces: a round publishes it."""
    compared: frozenset[int]
    """Primary keys of the sets that share no image with the source."""


def draw_samples(*, source: SampleSet, count: int, salt: str) -> Draw:
    """Draw `count` samples of `source` in the order given by `salt`. Slow: call it outside a transaction.

    Raise `Refusal` if `source` was drawn itself, has another purpose, is too small, contains a sample twice, or shares
    images with a set that is public, used for validation, played or drawn from. This does not check whether `source`
    itself was played: the caller does.
    """
    _check_source(source, count)
    shown = list(shown_sets())
    _check_unseen(source, shown)
    order = secret_order(source.count, salt)[:count]
    drawn = SampleSet(
        competition=source.competition,
        purpose=source.purpose,
        source=source.source,
        split=source.split,
        count=count,
        target_seed=source.target_seed,
        digest=draw(source, order),
        class_names=source.class_names,
        drawn_from=source,
    )
    of_source = sample_hashes(source, salt)
    hashes = [of_source[number] for number in order]
    if len(set(hashes)) < count:
        raise Refusal(f"{source} contains a sample twice", fix="import a set without duplicate images")
    return Draw(source, drawn, commitment_to(hashes), frozenset(other.pk for other in shown))


def keep_draw(drawn: Draw, *, name: str) -> SampleSet:
    """Save the drawn samples as a set called `name`.

    Raise `Refusal` if the name is in use, or if the source shares images with a set that was shown since the draw.
    """
    sample_set = drawn.sample_set
    with transaction.atomic():
        source = SampleSet.objects.select_for_update(no_key=True).get(pk=drawn.source.pk)
        if newer := list(shown_sets().exclude(pk__in=drawn.compared)):
            _check_unseen(source, newer)
        if source.competition.sample_sets.filter(name=name).exists():
            raise Refusal(f"{source.competition} already has a sample set {name!r}", fix="choose another name")
        sample_set.name, sample_set.imported_at = name, clock.now()
        sample_set.save()
    return sample_set


def _check_unseen(source: SampleSet, shown: Iterable[SampleSet]) -> None:
    if other := overlapping(source, shown):
        raise Refusal(
            f"{source} shares images with {other}, which are no longer secret",
            fix="import a set of unused images",
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
        raise Refusal(f"{source} has {source.count} samples, not {count}", fix=f"choose 1 to {source.count} samples")
