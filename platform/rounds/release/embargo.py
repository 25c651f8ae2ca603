"""The embargo of a round's images: they stay secret while another measurement uses them."""

from __future__ import annotations

from django.db.models import QuerySet

from competitions.models import SampleSet
from competitions.sample_set_selectors import sample_set_for
from competitions.sample_store import image_hashes
from core import clock
from rounds.formats import round_formats
from rounds.models import Round

OVER = (Round.State.PUBLISHED, Round.State.CANCELLED)


def embargo_reason(round_: Round) -> str:
    """Return why the images of a round must stay secret, "" if they may be public.

    They stay secret while something is still played on them, and while another sample set shares an image with them and
    may still be played: validation samples of a competition that has not ended, samples of an unpublished round, and
    samples from which a round may still be drawn.
    """
    own = round_.sample_set
    if _being_played(SampleSet.objects.filter(pk=own.pk)):
        return "matches are still played on its samples"
    images, others = image_hashes(own), _others(own)
    playing = _being_played(SampleSet.objects.filter(pk__in=[other.pk for other in others]))
    for other in others:
        if (other.pk in playing or _may_be_played(other)) and images & image_hashes(other):
            return f"the sample set {other} shares images with it, and is still in use"
    return ""


def _others(own: SampleSet) -> list[SampleSet]:
    """Return every other secret set. The set from which `own` was drawn is used up with it."""
    sets = SampleSet.objects.exclude(purpose=SampleSet.Purpose.DEVELOPMENT).exclude(pk__in=[own.pk, own.drawn_from_id])
    return list(sets.select_related("competition__origin", "round"))


def _being_played(sets: QuerySet[SampleSet]) -> set[int]:
    """Return the keys of those of the sets on which something is still to be played, in any format."""
    found = (round_formats[name].being_played(sets) for name in round_formats)
    return {key for each in found for key in each.values_list("pk", flat=True)}


def _may_be_played(other: SampleSet) -> bool:
    if hasattr(other.competition, "origin"):  # it was played on another site, and is only read here
        return False
    if other.purpose == SampleSet.Purpose.VALIDATION:
        newest = sample_set_for(other.competition, other.purpose)
        return other == newest and other.competition.ends_at > clock.now()
    if other.drawn_from_id is not None:
        return not Round.objects.filter(sample_set=other, state__in=OVER).exists()
    return not Round.objects.filter(sample_set__drawn_from=other, state=Round.State.PUBLISHED).exists()
