"""Which models are released: those of rounds whose images and results are public."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from competitions.permissions import require_not_archived
from core.errors import Refusal
from formats.curves import NAME
from formats.curves.models import Benchmark
from rounds.models import Release, Round, RoundEntry
from rounds.publishing.pair_visibility import released_parts
from submissions.models import Submission

NEEDED = frozenset((Release.Part.BUNDLE.value, Release.Part.IMAGES.value))
"""The parts of a round that must be public: its bundle has the distance of each image, its images the labels."""


def is_released(round_: Round) -> bool:
    """Return whether the models of a round are released."""
    of_curves = round_.competition.format == NAME
    return of_curves and round_.state == Round.State.PUBLISHED and released_parts(round_) >= NEEDED


def released_models(round_: Round) -> QuerySet[RoundEntry]:
    """Return the entries of a released round, best first; none of any other.

    A model that failed under an attack of the round got no image right, so that nothing can be shown of it.
    """
    if not is_released(round_):
        return RoundEntry.objects.none()
    own = Benchmark.objects.filter(round=OuterRef("round"), submission=OuterRef("submission"))
    entries = RoundEntry.objects.filter(Exists(own), ~Exists(own.filter(result="")), round=round_)
    return entries.select_related(
        "submission__repository__entry__team", "round__competition", "round__rules__competition", "round__sample_set"
    ).order_by("place", "order")


def released_entries(submission: Submission) -> list[RoundEntry]:
    """Return the entries of a submission in the rounds in which it is released, oldest first."""
    entries = submission.round_entries.filter(round__state=Round.State.PUBLISHED).select_related("round__competition")
    return [found for each in entries.order_by("pk") for found in released_models(each.round).filter(pk=each.pk)]


def require_open(entry: RoundEntry) -> None:
    """Raise `Refusal` unless proofs against a model may be uploaded now."""
    require_not_archived(entry.round.competition)
    if not released_models(entry.round).filter(pk=entry.pk).exists():
        raise Refusal("the model is not released", fix="wait until bundle and images of the round are public")
    current = Submission.objects.get(pk=entry.submission_id)
    if current.disqualified_at or current.state == Submission.State.WITHDRAWN:
        withdrawn = "the model was withdrawn, so what is best known of it stays as it is"
        disqualified = "the model was disqualified, so what is best known of it stays as it is"
        problem = disqualified if current.disqualified_at else withdrawn
        raise Refusal(problem, fix="choose another model")
