"""The embargo of a round's images: they stay secret while another measurement uses them."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from competitions.models import SampleSet
from competitions.sample_store import image_hashes
from competitions.selectors import sample_set_for
from core import clock
from matches.models import Match
from rounds.models import Round
from tournaments.models import AttackRun, DefenceRun, RepeatRun, Run, Tournament

OPEN = (Match.State.WAITING, Match.State.PLAYING, Match.State.AUDIT, Match.State.SUSPENDED)
OVER = (Round.State.PUBLISHED, Round.State.CANCELLED)


def embargo_reason(round_: Round) -> str:
    """Return why the images of a round must stay secret, "" if they may be public.

    They stay secret while something is still played on them, and while another sample set shares an image with them and
    may still be played: validation samples of a competition that has not ended, samples of an unpublished round, and
    samples from which a round may still be drawn.
    """
    own = round_.sample_set
    if Match.objects.filter(sample_set=own, state__in=OPEN).exists() or _open_runs().filter(sample_set=own).exists():
        return "matches are still played on its samples"
    images = image_hashes(own)
    for other in _others(own):
        if _may_be_played(other) and images & image_hashes(other):
            return f"the sample set {other} shares images with it, and is still in use"
    return ""


def _others(own: SampleSet) -> list[SampleSet]:
    """Return every other secret set. The set from which `own` was drawn is used up with it."""
    sets = SampleSet.objects.exclude(purpose=SampleSet.Purpose.DEVELOPMENT).exclude(pk__in=[own.pk, own.drawn_from_id])
    matches = Match.objects.filter(sample_set=OuterRef("pk"), state__in=OPEN)
    runs = _open_runs().filter(sample_set=OuterRef("pk"))
    being_played = sets.annotate(being_played=Exists(matches) | Exists(runs))
    return list(being_played.select_related("competition", "round"))


def _open_runs() -> QuerySet[Tournament]:
    """Return the tournaments with runs that may still be played."""
    unfinished = (Run.State.WAITING, Run.State.CLAIMED)
    attacks = AttackRun.objects.filter(tournament=OuterRef("pk"), state__in=unfinished)
    defences = DefenceRun.objects.filter(attack_run__tournament=OuterRef("pk"), state__in=unfinished)
    repeats = RepeatRun.objects.filter(tournament=OuterRef("pk"), state__in=unfinished)
    return Tournament.objects.filter(Exists(attacks) | Exists(defences) | Exists(repeats), ended_at=None)


def _may_be_played(other: SampleSet) -> bool:
    if getattr(other, "being_played", False):
        return True
    if other.purpose == SampleSet.Purpose.VALIDATION:
        newest = sample_set_for(other.competition, other.purpose)
        return other == newest and other.competition.ends_at > clock.now()
    if other.drawn_from_id is not None:
        return not Round.objects.filter(sample_set=other, state__in=OVER).exists()
    return not Round.objects.filter(sample_set__drawn_from=other, state=Round.State.PUBLISHED).exists()
